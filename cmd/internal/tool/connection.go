package tool

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
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
	return []cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "the `URL` of the server (default FLAGSTAFF_URL)", Destination: &c.URL},
		&cli.StringFlag{Name: "project", Usage: "the `ID` of the project (default FLAGSTAFF_PROJECT, or the current project of the key's user)", Destination: &c.Project},
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
	url, key := cmp.Or(c.URL, p.Getenv("FLAGSTAFF_URL")), p.Getenv("FLAGSTAFF_KEY")
	switch {
	case url == "":
		return nil, WrongUsage("there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com")
	case key == "":
		return nil, WrongUsage("there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see")
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, err
	}
	client, err := api.New(api.Config{
		URL: url, Key: key, Project: cmp.Or(c.Project, p.Getenv("FLAGSTAFF_PROJECT")),
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

// WayOut adds to an error of a client's configuration what else can be done.
func WayOut(err error) error {
	if errors.Is(err, api.ErrUnencrypted) {
		return fmt.Errorf("%w, or -insecure in a network that you trust", err)
	}
	return err
}
