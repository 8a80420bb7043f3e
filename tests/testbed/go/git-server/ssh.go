package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshCommand is what Git asks for over SSH.
var sshCommand = regexp.MustCompile(`^git-(upload|receive)-pack '/?([a-z0-9][a-z0-9._-]*\.git)'$`)

// serveSSH serves the repositories over SSH to whoever has the key of the file authorized_key in the directory. It
// writes its host keys, an Ed25519 and an ECDSA one, to known_hosts there.
func (s *server) serveSSH(directory, address string) error {
	authorized, err := os.ReadFile(filepath.Join(directory, "authorized_key"))
	if err != nil {
		return err
	}
	client, _, _, _, err := ssh.ParseAuthorizedKey(authorized)
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(connection ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if connection.User() == "git" && bytes.Equal(key.Marshal(), client.Marshal()) {
				return nil, nil
			}
			return nil, errors.New("not the authorized key")
		},
	}
	if err := addHostKeys(config, directory, address); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	log.Printf("serving %s on ssh://%s", s.root, address)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go s.serveSSHConnection(connection, config)
	}
}

func addHostKeys(config *ssh.ServerConfig, directory, address string) error {
	_, first, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	var lines string
	for _, key := range []any{first, second} {
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			return err
		}
		config.AddHostKey(signer)
		lines += knownhosts.Line([]string{address}, signer.PublicKey()) + "\n"
	}
	return os.WriteFile(filepath.Join(directory, "known_hosts"), []byte(lines), 0o644)
}

func (s *server) serveSSHConnection(connection net.Conn, config *ssh.ServerConfig) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		log.Printf("ssh: %v", err)
		return
	}
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		if channel.ChannelType() != "session" {
			channel.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		session, requests, err := channel.Accept()
		if err != nil {
			log.Printf("ssh: %v", err)
			return
		}
		go s.serveSession(session, requests)
	}
}

func (s *server) serveSession(session ssh.Channel, requests <-chan *ssh.Request) {
	defer session.Close()
	for request := range requests {
		if request.Type != "exec" {
			request.Reply(false, nil)
			continue
		}
		request.Reply(true, nil)
		var asked struct{ Command string }
		var status struct{ Status uint32 }
		if err := ssh.Unmarshal(request.Payload, &asked); err == nil {
			err = s.runCommand(asked.Command, session)
			if err != nil {
				fmt.Fprintf(session.Stderr(), "ERROR: %v\n", err)
				status.Status = 1
			}
		}
		session.SendRequest("exit-status", false, ssh.Marshal(&status))
		return
	}
}

func (s *server) runCommand(text string, session ssh.Channel) error {
	parts := sshCommand.FindStringSubmatch(text)
	if parts == nil {
		return errors.New("Repository not found.")
	}
	if err := s.ensureRepository(parts[2]); err != nil {
		return err
	}
	command := exec.Command(s.git, parts[1]+"-pack", filepath.Join(s.root, parts[2]))
	command.Env = append(os.Environ(), gitEnvironment()...)
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = session, session.Stderr()
	if err := command.Start(); err != nil {
		return err
	}
	// Not waited for: Git ends when it has what it needs, not when the client closes.
	go func() {
		io.Copy(input, session)
		input.Close()
	}()
	return command.Wait()
}
