// Server is the smallest program around the standalone server, package
// cmd/flagstaff/serve, which describes its settings. The program `flagstaff` has it
// as its command serve, beside other commands.
//
//	go run ./examples/server -demo            a demo project, without any setup
//	go run ./examples/server -flags FILE      your own definitions document
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	program := serve.Main{
		Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Environ: os.Environ(),
		Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(program.Run(ctx))
}
