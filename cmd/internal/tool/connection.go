package tool

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
)

// A Connection has the flags of commands that talk to a server.
type Connection struct {
	URL, Project string
	CACert       string // file; "" is the system's certificates
	Insecure     bool
}

func (c *Connection) Flags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "the `URL` of the server (default FLAGSTAFF_URL)", Destination: &c.URL},
		&cli.StringFlag{Name: "project", Usage: "the `ID` of the project (default FLAGSTAFF_PROJECT, or the current project of the key's user)", Destination: &c.Project},
	}, c.Trust()...)
}

// Trust returns the flags that say how a connection is protected.
func (c *Connection) Trust() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "cacert", Destination: &c.CACert,
			Usage: "trust the certificates in the PEM `FILE`, and not those of the system, for https",
		},
		&cli.BoolFlag{Name: "insecure", Usage: "send the key to another machine without encryption, by http", Destination: &c.Insecure},
	}
}

// Client returns a client of the server that the flags and the environment name.
func (p *Program) Client(c *Connection) (*api.Client, error) { return p.ClientWithin(c, 0) }

// ClientWithin is client for requests that may take longer than others.
func (p *Program) ClientWithin(c *Connection, timeout time.Duration) (*api.Client, error) {
	address, key := cmp.Or(c.URL, p.Getenv("FLAGSTAFF_URL")), p.Getenv("FLAGSTAFF_KEY")
	switch {
	case address == "":
		return nil, WrongUsage("there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com")
	case key == "":
		return nil, WrongUsage("there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see")
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, err
	}
	client, err := api.New(api.Config{
		URL: address, Key: key, Project: cmp.Or(c.Project, p.Getenv("FLAGSTAFF_PROJECT")),
		Timeout: timeout, Roots: roots, Insecure: c.Insecure, UserAgent: "flagstaff/" + release.Get().Version,
	})
	if err != nil {
		return nil, usageError{WayOut(err)}
	}
	return client, nil
}

// Roots returns the certificates of -cacert, nil without it.
func (c *Connection) Roots() (*x509.CertPool, error) {
	if c.CACert == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.CACert)
	if err != nil {
		return nil, WrongUsage("flag -cacert: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, WrongUsage("flag -cacert: %s has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----", c.CACert)
	}
	return roots, nil
}

// ForeignClient returns a client for another product at an address, and the key for it, of
// FLAGSTAFF_FROM_KEY, "" if there is none. The key does not go to another machine without
// encryption, unless -insecure says so.
func (p *Program) ForeignClient(c *Connection, address string, timeout time.Duration) (client *http.Client, key string, err error) {
	roots, err := c.Roots()
	if err != nil {
		return nil, "", err
	}
	key = p.Getenv("FLAGSTAFF_FROM_KEY")
	if u, err := url.Parse(address); err == nil && key != "" && u.Scheme == "http" && !c.Insecure && !api.Loopback(u.Hostname()) {
		return nil, "", WrongUsage("the key in FLAGSTAFF_FROM_KEY would be sent without encryption: use https, or -insecure")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	transport.MaxIdleConnsPerHost = compareWorkers
	return &http.Client{Transport: transport, Timeout: timeout}, key, nil
}

// WayOut adds to an error of a client's configuration what else can be done.
func WayOut(err error) error {
	if errors.Is(err, api.ErrUnencrypted) {
		return fmt.Errorf("%w, or -insecure in a network that you trust", err)
	}
	return err
}
