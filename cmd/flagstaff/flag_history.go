package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagHistoryCommand prints the versions of a flag.
func (p *program) flagHistoryCommand() *cli.Command {
	var r remote
	var version int
	limit := 20
	return &cli.Command{
		Name:      "history",
		Usage:     "print the versions of a flag",
		UsageText: tool.ProgramName + " flag history [FLAGS] KEY",
		Description: `History prints the versions of a flag, newest first: the number, when it was made and by
whom, and what it has changed. With -v it prints one of them whole.

Examples:

	flagstaff flag history new-checkout
	flagstaff flag history -v 3 new-checkout`,
		Flags: r.flags(
			&cli.IntFlag{Name: "v", HideDefault: true, Usage: "print the version `NUMBER` whole", Destination: &version},
			&cli.IntFlag{Name: "limit", Value: limit, Usage: "print at most `N` versions, 0 for all of them (default 20)", Destination: &limit},
		),
		ShellComplete: p.completeKey(&r),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.IsSet("v") && version < 1 {
				return tool.BadValue("v", strconv.Itoa(version), "the number of a version, from 1")
			}
			if limit < 0 {
				return tool.BadValue("limit", strconv.Itoa(limit), "a number of versions, or 0 for all")
			}
			f, err := p.connectTo(ctx, &r, cmd, "KEY")
			if err != nil {
				return err
			}
			if version > 0 {
				was, err := r.version(ctx, f, version)
				switch {
				case err != nil:
					return err
				case r.asJSON:
					return p.JSON(was)
				}
				return p.about(ctx, &r, was)
			}
			return p.listVersions(ctx, &r, f, limit)
		},
	}
}

// version returns a flag as it was in a version.
func (r *remote) version(ctx context.Context, f *management.FlagView, version int) (*management.FlagView, error) {
	was := new(management.FlagView)
	err := r.client.Get(ctx, r.path(fmt.Sprint(f.ID), "versions", strconv.Itoa(version)), was)
	if isNotFound(err) {
		return nil, fmt.Errorf("flag %s has no version %d: it has version %d now, and %s flag history %s lists those that are kept", f.Key, version, f.Version, tool.ProgramName, f.Key)
	}
	return was, err
}

func (p *program) listVersions(ctx context.Context, r *remote, f *management.FlagView, limit int) error {
	versions, more := []management.FlagVersion{}, false
	for v, err := range api.List[management.FlagVersion](ctx, r.client, r.path(fmt.Sprint(f.ID), "versions"), nil) {
		if err != nil {
			return err
		}
		if more = limit > 0 && len(versions) == limit; more {
			break
		}
		versions = append(versions, v)
	}
	if r.asJSON {
		return p.JSON(versions)
	}
	rows := [][]string{{"VERSION", "WHEN", "WHO", "WHAT"}}
	for i := range versions {
		v := &versions[i]
		rows = append(rows, []string{strconv.Itoa(v.Version), when(v.CreatedAt), who(v.CreatedBy), v.Summary})
	}
	if err := p.Table(rows); err != nil || !more {
		return err
	}
	return p.Print("older ones are left out: -limit 0 prints all")
}
