package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
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
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := p.connect(&r, cmd, "KEY")
			if err != nil {
				return err
			}
			f, err := r.flag(ctx, args[0])
			if err != nil {
				return err
			}
			if r.asJSON {
				return p.JSON(f)
			}
			return p.about(ctx, &r, f)
		},
	}
}
