package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	p := tool.Program{
		About: "a tool for feature flags, without the server",
		Args:  os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(p.Run(ctx))
}
