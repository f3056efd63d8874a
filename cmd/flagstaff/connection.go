package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/release"
)

// A connection has the flags of commands that talk to a server.
type connection struct {
	url, project string
	insecure     bool
}

func (c *connection) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "the `URL` of the server (default FLAGSTAFF_URL)", Destination: &c.url},
		&cli.StringFlag{Name: "project", Usage: "the `ID` of the project (default FLAGSTAFF_PROJECT, or the current project of the key's user)", Destination: &c.project},
		&cli.BoolFlag{Name: "insecure", Usage: "send the key to another machine without encryption, by http", Destination: &c.insecure},
	}
}

// client returns a client of the server that the flags and the environment name.
func (p *program) client(c *connection) (*api.Client, error) { return p.clientWithin(c, 0) }

// clientWithin is client for requests that may take longer than others.
func (p *program) clientWithin(c *connection, timeout time.Duration) (*api.Client, error) {
	url, key := cmp.Or(c.url, p.getenv("FLAGSTAFF_URL")), p.getenv("FLAGSTAFF_KEY")
	switch {
	case url == "":
		return nil, wrongUsage("there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com")
	case key == "":
		return nil, wrongUsage("there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see")
	}
	client, err := api.New(api.Config{
		URL: url, Key: key, Project: cmp.Or(c.project, p.getenv("FLAGSTAFF_PROJECT")),
		Timeout: timeout, Insecure: c.insecure, UserAgent: "flagstaff/" + release.Get().Version,
	})
	if err != nil {
		return nil, usageError{wayOut(err)}
	}
	return client, nil
}

// wayOut adds to an error of a client's configuration what else can be done.
func wayOut(err error) error {
	if errors.Is(err, api.ErrUnencrypted) {
		return fmt.Errorf("%w, or -insecure in a network that you trust", err)
	}
	return err
}
