package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagRevertCommand makes an older version of a flag again.
func (p *program) flagRevertCommand() *cli.Command {
	var r remote
	return &cli.Command{
		Name:      "revert",
		Usage:     "make an older version of a flag again",
		UsageText: tool.ProgramName + " flag revert [FLAGS] KEY VERSION",
		Description: `Revert gives a flag the content of an older version again, as a new version: nothing of the
history is lost. The server refuses a version that needs what has gone since, such as a
cohort.

Examples:

	flagstaff flag history new-checkout
	flagstaff flag revert new-checkout 3`,
		Flags:         r.flags(),
		ShellComplete: p.completeKey(&r),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := tool.WantArgs(cmd, "KEY", "VERSION")
			if err != nil {
				return err
			}
			version, err := strconv.Atoi(args[1])
			if err != nil || version < 1 {
				return tool.WrongUsage("VERSION is %q: want the number of a version, which %s flag history %s lists", args[1], tool.ProgramName, args[0])
			}
			before, err := p.connectTo(ctx, &r, cmd, "KEY", "VERSION")
			if err != nil {
				return err
			}
			f, err := r.change(ctx, http.MethodPost, before, map[string]any{"version": version, "current_version": before.Version}, "revert")
			if err != nil {
				return err
			}
			if f.Version == before.Version {
				return p.tell(&r, f, "flag %s has the content of version %d already", f.Key, version)
			}
			return p.tell(&r, f, "flag %s: version %d is %s", f.Key, f.Version, r.summary(ctx, f, version))
		},
	}
}

// summary says what the newest version of a flag has changed, which reverted it.
func (r *remote) summary(ctx context.Context, f *management.FlagView, version int) string {
	for v, err := range api.List[management.FlagVersion](ctx, r.client, r.path(fmt.Sprint(f.ID), "versions"), url.Values{"limit": {"1"}}) {
		if err == nil && v.Version == f.Version {
			return v.Summary
		}
		break
	}
	return fmt.Sprintf("reverted to version %d", version)
}
