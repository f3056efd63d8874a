package main

import (
	"context"
	"flag"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
)

// serveCommand is the standalone server, which has settings and messages of its own.
func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name:            "serve",
		Category:        tool.OfServer,
		Usage:           "run the standalone server",
		SkipFlagParsing: true,
		ShellComplete: tool.Complete(func(*cli.Command) (candidates []tool.Candidate) {
			for _, f := range settings() {
				candidates = append(candidates, tool.Candidate{Word: "-" + f.name, Usage: f.usage})
			}
			return candidates
		}),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return p.serve(ctx, cmd.Args().Slice())
		},
	}
}

func (p *program) serve(ctx context.Context, args []string) error {
	server := serve.Main{Name: tool.ProgramName + " serve", Args: args, Environ: p.Environ, Stdout: p.Stdout, Stderr: p.Stderr}
	if code := server.Run(ctx); code != 0 {
		return tool.Exit(code)
	}
	return nil
}

// A setting is an option of the server.
type setting struct{ name, usage string }

// settings returns the options of the server.
func settings() (list []setting) {
	serve.Options().VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		list = append(list, setting{f.Name, usage})
	})
	return list
}
