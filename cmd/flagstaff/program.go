package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	p := newProgram(os.Args[1:], os.Environ())
	p.Stdin, p.Stdout, p.Stderr = os.Stdin, os.Stdout, os.Stderr
	os.Exit(p.Run(ctx))
}

// A program is one call of the program, with the commands that need a server's modules.
type program struct{ tool.Program }

// newProgram returns a call of the program, without its standard files.
func newProgram(args, environ []string) *program {
	p := &program{tool.Program{
		Args: args, Environ: environ, About: "feature flags: a server, and a tool for people who work with them", Variables: variables,
		CommandOf: func(flag string) string {
			if serve.Options().Lookup(flag) != nil {
				return "serve"
			}
			return ""
		},
	}}
	p.More = p.more
	return p
}

// more are the commands that need a server's modules.
func (p *program) more() []*cli.Command {
	return []*cli.Command{
		p.serveCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.usersCommand(),
		p.flagCommand(),
		p.importCommand(),
		p.applyCommand(),
		p.exportCommand(),
	}
}

// variables are those of the environment that only these commands read, for the help.
const variables = `  FLAGSTAFF_STORE
        the store, for commands that open one; or the flag -store
`

// store returns the store of -store, of FLAGSTAFF_STORE, or the file that the server
// uses without either.
func (p *program) store(given string) string {
	return cmp.Or(given, p.Getenv("FLAGSTAFF_STORE"), "flagstaff.db")
}
