package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate that signs others.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certificates makes an authority of its own, one below it that the server sends along, and the server's certificate for
// localhost and 127.0.0.1. Clients find the authority in ca.crt of the directory, and another one in other-ca.crt.
func certificates(directory string) (*tls.Config, error) {
	root, err := newAuthority("root", nil)
	if err != nil {
		return nil, err
	}
	other, err := newAuthority("other", nil)
	if err != nil {
		return nil, err
	}
	between, err := newAuthority("between", root)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate("git-server")
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	own, err := x509.CreateCertificate(rand.Reader, template, between.certificate, &key.PublicKey, between.key)
	if err != nil {
		return nil, err
	}
	for name, authority := range map[string]*authority{"ca.crt": root, "other-ca.crt": other} {
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw})
		if err := os.WriteFile(filepath.Join(directory, name), block, 0o644); err != nil {
			return nil, err
		}
	}
	chain := tls.Certificate{Certificate: [][]byte{own, between.certificate.Raw}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{chain}}, nil
}

func newAuthority(name string, parent *authority) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(name)
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign
	if parent == nil {
		parent = &authority{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, &key.PublicKey, parent.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key}, err
}

func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
	}
}
