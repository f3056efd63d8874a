package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/flagstaff-go/flagstaff/tools/internal/publish"
)

func main() {
	dir := flag.String("C", ".", "the checkout's `FOLDER`")
	only := flag.Bool("n", false, "look only whether the modules require each other at one version")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := consume(ctx, *dir, *only); err != nil {
		fmt.Fprintln(os.Stderr, "consume:", err)
		stop()
		os.Exit(1)
	}
}

func consume(ctx context.Context, dir string, only bool) error {
	repo, err := publish.Open(ctx, dir)
	if err != nil {
		return err
	}
	version, err := repo.Version()
	if err != nil || only {
		return err
	}
	sandbox, err := os.MkdirTemp("", "consume")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sandbox)
	return repo.Consume(ctx, sandbox, version, os.Stdout)
}
