package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// certificateEvery is how often the files of the certificate are looked at.
	certificateEvery = 2 * time.Second

	// maxPEM is how large the file of a certificate or its key may be.
	maxPEM = 1 << 20 // bytes

	// expiresSoon is how long before a certificate expires the log begins to say so, each
	// day anew.
	expiresSoon = 14 * 24 * time.Hour
)

// A certificate is the pair of -tls-cert and -tls-key, and follows the files. It is safe for
// concurrent use, except for check.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	current atomic.Pointer[tls.Certificate]

	// What check saw last, and what it has said.
	cert, key []byte    // that are served
	fault     string    // of the files as they are now, "" if there is none
	logged    string    // the fault that the log has
	warned    time.Time // when the log was told that the certificate expires
}

// openCertificate reads the pair of files.
func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, now: time.Now}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads the files and puts what is new into service.
func (c *certificate) load() error {
	cert, err := readPEM("tls-cert", c.certFile)
	if err != nil {
		return err
	}
	key, err := readPEM("tls-key", c.keyFile)
	if err != nil {
		return err
	}
	if c.current.Load() != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("the certificate in %s (-tls-cert) with the key in %s (-tls-key): %w", c.certFile, c.keyFile, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return fmt.Errorf("the certificate in %s (-tls-cert): %w", c.certFile, err)
		}
	}
	c.cert, c.key, c.warned = cert, key, time.Time{}
	c.current.Store(&pair)
	return nil
}

// readPEM reads a file of a flag.
func readPEM(flag, path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the file of -%s: %w", flag, err)
	case !info.Mode().IsRegular(): // opening a pipe would block
		return nil, fmt.Errorf("the file of -%s: %s is not a regular file", flag, path)
	case info.Size() > maxPEM:
		return nil, fmt.Errorf("the file of -%s: %s has %d bytes, want at most %d", flag, path, info.Size(), maxPEM)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of -%s: %w", flag, err)
	}
	return b, nil
}

// expires returns when the certificate in service ends.
func (c *certificate) expires() time.Time { return c.current.Load().Leaf.NotAfter }

// check looks at the files and the clock. What cannot be used leaves the last good pair in
// service. It is logged at the second look that sees it: certificate and key are two files,
// which nobody replaces at the same moment.
func (c *certificate) check(ctx context.Context) {
	before := c.current.Load()
	fault := ""
	if err := c.load(); err != nil {
		fault = err.Error()
	}
	if fault != "" && fault == c.fault && fault != c.logged {
		c.logged = fault
		c.log.ErrorContext(ctx, "the certificate cannot be loaded; the last good one stays", "error", fault, "expires", c.expires())
	}
	if c.fault = fault; fault == "" {
		c.logged = ""
	}
	if c.current.Load() != before {
		c.log.InfoContext(ctx, "certificate loaded", "file", c.certFile, "expires", c.expires())
	}
	if text := c.aging(); text != "" && c.now().Sub(c.warned) >= 24*time.Hour {
		c.warned = c.now()
		c.log.WarnContext(ctx, text, "file", c.certFile, "expires", c.expires())
	}
}

// aging says in words that the certificate has expired or will soon, "" if neither.
func (c *certificate) aging() string {
	switch left := c.expires().Sub(c.now()); {
	case left <= 0:
		return "the certificate has expired; clients refuse it"
	case left < expiresSoon:
		return "the certificate expires soon"
	}
	return ""
}

// watch follows the files until ctx ends.
func (c *certificate) watch(ctx context.Context) {
	tick := time.NewTicker(certificateEvery)
	defer tick.Stop()
	for {
		c.check(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// config returns the settings of TLS: the defaults of Go, which are versions 1.2 and 1.3
// with ciphers that are safe, and the certificate as it is when a client connects.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// metric returns the metric of the certificate for /metrics.
func (c *certificate) metric() prometheus.Collector {
	return gauge("flagstaff_tls_certificate_expiry_timestamp_seconds", "When the certificate of the server expires, in seconds since 1970.",
		func() float64 { return float64(c.expires().Unix()) })
}

// certificate returns the pair of -tls-cert and -tls-key, or nil if they are not set.
func (s *settings) certificate(log *slog.Logger) (*certificate, error) {
	if s.tlsCert == "" {
		return nil, nil
	}
	return openCertificate(s.tlsCert, s.tlsKey, log)
}

// checkTLS checks that there are both files or neither.
func (s *settings) checkTLS() error {
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return errors.New("flags -tls-cert and -tls-key need each other: " + cmp.Or(s.tlsCert, s.tlsKey) + " is one file of the pair")
	}
	return nil
}

// scheme returns the scheme of addresses of the listener.
func (s *settings) scheme() string {
	if s.tlsCert != "" {
		return "https"
	}
	return "http"
}
