package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
)

// flagExplainCommand tells how a flag of a server gets its value.
func (p *program) flagExplainCommand() *cli.Command {
	var r remote
	var given tool.RequestFlags
	return &cli.Command{
		Name:      "explain",
		Usage:     "tell how a flag gets its value for a person",
		UsageText: tool.ProgramName + " flag explain [FLAGS] KEY PERSON",
		Description: `Explain evaluates a flag on the server for the person with the distinct ID PERSON, with what
the server knows about the person, and prints each step: which condition set or rule was
tried, which filter did not match, in which bucket the person is. Properties that are given count
for this evaluation. The key needs the scopes feature_flag:read and person:read.

Examples:

	flagstaff flag explain new-checkout user-1
	flagstaff flag explain -property plan=pro -group company=acme new-checkout user-1`,
		// The server evaluates for its own time, and explains flags for any runtime.
		Flags: r.flags(slices.DeleteFunc(given.Flags(), func(f cli.Flag) bool {
			return f.Names()[0] == "now" || f.Names()[0] == "runtime"
		})...),
		ShellComplete: p.completeKey(&r),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := tool.WantArgs(cmd, "KEY", "PERSON")
			if err != nil {
				return err
			}
			request, err := given.Request(args[1])
			if err != nil {
				return err
			}
			if _, err := p.connect(&r, cmd, "KEY", "PERSON"); err != nil {
				return err
			}
			path, body := r.path(args[0], "explain"), requestBody(request)
			if r.asJSON {
				var steps json.RawMessage
				if err := r.client.Send(ctx, http.MethodPost, path, body, &steps); err != nil {
					return r.refused(ctx, args[0], err)
				}
				return p.JSON(steps)
			}
			text, err := r.client.Text(ctx, http.MethodPost, path, body)
			if err != nil {
				return r.refused(ctx, args[0], err)
			}
			return p.PrintText(text)
		},
	}
}

// requestBody returns the body of POST /flags for a request.
func requestBody(r *flags.Request) map[string]any {
	body := map[string]any{
		"distinct_id": r.DistinctID, "person_properties": r.PersonProperties, "groups": r.Groups, "group_properties": r.GroupProperties,
	}
	if r.DeviceID != "" {
		body["$device_id"] = r.DeviceID
	}
	if r.AnonymousID != "" {
		body["$anon_distinct_id"] = r.AnonymousID
	}
	if len(r.Filter.Tags) > 0 {
		body["evaluation_contexts"] = r.Filter.Tags
	}
	return body
}
