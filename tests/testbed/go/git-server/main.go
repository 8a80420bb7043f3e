// Command git-server serves bare Git repositories over smart HTTP on a loopback address, for tests.
//
// Flux reads Git over HTTP or SSH only. This is `git http-backend` behind net/http/cgi, with pushes allowed
// and every repository below the root created at its first request. With --guarded it serves the same repositories
// a second time, as forges do: over HTTPS to whoever has the password, and over SSH to whoever has the key.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// maximumBody is the largest request that is read into memory: 256 MiB, far above any stack repository.
const maximumBody = 256 << 20

// repositoryName is one path segment that ends in .git and cannot leave the root.
var repositoryName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*\.git$`)

// repositorySettings are what a new repository gets: Flux fetches by commit and with filters, tests push.
var repositorySettings = [][2]string{
	{"http.receivepack", "true"},
	{"uploadpack.allowAnySHA1InWant", "true"},
	{"uploadpack.allowFilter", "true"},
}

type server struct {
	root string
	git  string
	// What Basic authentication must have as password; empty where anybody is let in.
	password string
	creating *sync.Mutex
}

func main() {
	root := flag.String("root", "", "directory of the bare repositories")
	address := flag.String("listen", "127.0.0.1:0", "loopback address and port to listen on")
	guarded := flag.String("guarded", "", "directory with password and authorized_key; certificates and host keys are written there")
	https := flag.String("https", "127.0.0.1:0", "loopback address and port for HTTPS with the password")
	ssh := flag.String("ssh", "127.0.0.1:0", "loopback address and port for SSH with the key")
	flag.Parse()
	if err := run(*root, *address, *guarded, *https, *ssh); err != nil {
		log.Fatal(err)
	}
}

func run(root, address, guarded, https, ssh string) error {
	if root == "" {
		return errors.New("--root is missing")
	}
	for _, address := range []string{address, https, ssh} {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("%s is not a loopback address: anybody may push here", host)
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	open := &server{root: root, git: git, creating: &sync.Mutex{}}
	ended := make(chan error)
	if guarded != "" {
		password, err := os.ReadFile(filepath.Join(guarded, "password"))
		if err != nil {
			return err
		}
		tls, err := certificates(guarded)
		if err != nil {
			return err
		}
		closed := *open
		closed.password = strings.TrimSpace(string(password))
		web := &http.Server{Addr: https, Handler: &closed, TLSConfig: tls}
		go func() { ended <- web.ListenAndServeTLS("", "") }()
		go func() { ended <- open.serveSSH(guarded, ssh) }()
	}
	log.Printf("serving %s on %s", root, address)
	go func() { ended <- http.ListenAndServe(address, open) }()
	return <-ended
}

func (s *server) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/healthz" {
		return
	}
	if _, password, _ := request.BasicAuth(); s.password != "" && password != s.password {
		response.Header().Set("WWW-Authenticate", `Basic realm="git-server"`)
		http.Error(response, "who are you?", http.StatusUnauthorized)
		return
	}
	name := strings.SplitN(strings.TrimPrefix(request.URL.Path, "/"), "/", 2)[0]
	if !repositoryName.MatchString(name) {
		http.NotFound(response, request)
		return
	}
	if err := s.ensureRepository(name); err != nil {
		log.Printf("%s: %v", name, err)
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := bufferBody(response, request); err != nil {
		http.Error(response, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	backend := cgi.Handler{
		Path: s.git,
		Args: []string{"http-backend"},
		Env:  append(gitEnvironment(), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1"),
	}
	backend.ServeHTTP(response, request)
}

// ensureRepository creates the bare repository where there is none: beside its place, then renamed,
// so that no other request sees half of one.
func (s *server) ensureRepository(name string) error {
	s.creating.Lock()
	defer s.creating.Unlock()
	directory := filepath.Join(s.root, name)
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	incomplete := directory + ".incomplete"
	if err := os.RemoveAll(incomplete); err != nil {
		return err
	}
	if err := s.runGit("init", "--quiet", "--bare", "--initial-branch=main", incomplete); err != nil {
		return err
	}
	for _, setting := range repositorySettings {
		if err := s.runGit("--git-dir", incomplete, "config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	return os.Rename(incomplete, directory)
}

func (s *server) runGit(arguments ...string) error {
	command := exec.Command(s.git, arguments...)
	command.Env = append(os.Environ(), gitEnvironment()...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// gitEnvironment keeps the settings of this machine and of its user out.
func gitEnvironment() []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
}

// bufferBody gives a chunked body (libgit2 and git send large pushes so) the length that CGI needs.
func bufferBody(response http.ResponseWriter, request *http.Request) error {
	if request.ContentLength >= 0 {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maximumBody))
	if err != nil {
		return err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.TransferEncoding = nil
	return nil
}
