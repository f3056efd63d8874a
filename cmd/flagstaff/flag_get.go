package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagGetCommand prints one flag.
func (p *program) flagGetCommand() *cli.Command {
	var r remote
	return &cli.Command{
		Name:      "get",
		Usage:     "print a flag",
		UsageText: tool.ProgramName + " flag get [FLAGS] KEY",
		Description: `Get prints what a flag is: its state, who gets it, variants and payloads, and who has
changed it. With -json it prints the flag as the server has it. KEY may be the ID of the
flag, here and in all commands about a flag.

Examples:

	flagstaff flag get new-checkout
	flagstaff flag get -json new-checkout > new-checkout.json`,
		Flags:         r.flags(),
		ShellComplete: p.completeKey(&r),
		Action: p.withFlag(&r, []string{"KEY"}, func(ctx context.Context, _ *cli.Command, f *management.FlagView) error {
			if r.asJSON {
				return p.JSON(f)
			}
			return p.about(ctx, &r, f)
		}),
	}
}
