package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/api"
	"github.com/flagstaff-go/flagstaff/flags"
)

// flagCommand has the commands about the flags of a server.
func (p *program) flagCommand() *cli.Command {
	return &cli.Command{
		Name:     "flag",
		Category: ofServer,
		Usage:    "show the flags of a server",
		Commands: []*cli.Command{p.flagListCommand()},
	}
}

// A remoteFlag is what commands show of a flag of a server.
type remoteFlag struct {
	Key      string          `json:"key"`
	Name     string          `json:"name"`
	Active   bool            `json:"active"`
	Archived bool            `json:"archived"`
	Version  int             `json:"version"`
	Filters  json.RawMessage `json:"filters"`
}

// state says in one word whether the flag is used.
func (f *remoteFlag) state() string {
	switch {
	case f.Archived:
		return "archived"
	case f.Active:
		return "on"
	}
	return "off"
}

// rollout says whom the flag admits: the rollout of each condition set, and whether it
// has filters.
func (f *remoteFlag) rollout() string {
	filters, err := flags.DecodeFilters(f.Filters, f.Key)
	if err != nil {
		return "?"
	}
	var sets []string
	for _, c := range filters.Groups {
		percentage := 100.0
		if c.RolloutPercentage != nil {
			percentage = *c.RolloutPercentage
		}
		text := strconv.FormatFloat(percentage, 'g', -1, 64) + "%"
		if n := len(c.Properties); n > 0 {
			text += " of " + count(n, "filter")
		}
		sets = append(sets, text)
	}
	return cmp.Or(strings.Join(sets, ", "), "nobody")
}

// flagListCommand lists the flags of a project.
func (p *program) flagListCommand() *cli.Command {
	var asJSON bool
	var given connection
	return &cli.Command{
		Name:      "list",
		Usage:     "list the flags of a project",
		UsageText: programName + " flag list [-json]",
		Description: `List prints the flags of the project at FLAGSTAFF_URL, with the key in FLAGSTAFF_KEY: for
each whether it is on, off or archived, the rollout of each of its condition sets, and
its name.

Examples:

	flagstaff flag list
	flagstaff flag list -json | jq -r '.[] | select(.active) | .key'`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the flags as the management API sends them", Destination: &asJSON},
		}, given.flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if _, err := wantArgs(cmd); err != nil {
				return err
			}
			client, err := p.client(&given)
			if err != nil {
				return err
			}
			list := []json.RawMessage{}
			rows := [][]string{{"KEY", "STATE", "ROLLOUT", "NAME"}}
			for raw, err := range api.List[json.RawMessage](ctx, client, client.InProject("feature_flags")) {
				if err != nil {
					return err
				}
				var f remoteFlag
				if err := json.Unmarshal(raw, &f); err != nil {
					return fmt.Errorf("the server sends a flag that cannot be read: %w", err)
				}
				list = append(list, raw)
				rows = append(rows, []string{f.Key, f.state(), f.rollout(), f.Name})
			}
			if asJSON {
				return p.json(list)
			}
			return p.table(rows)
		},
	}
}
