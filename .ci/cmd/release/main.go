package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/flagstaff-go/flagstaff/tools/internal/publish"
)

func main() {
	dir := flag.String("C", ".", "the checkout's `FOLDER`")
	dry := flag.Bool("n", false, "check, say what would be done, and do nothing")
	build := flag.Bool("build", false, "only build the binaries of the version, whose tag is checked out")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), `Usage: .ci/release [-n | -build] VERSION

Prepares the release of VERSION, such as v0.1.0, from a clean checkout: proves that
the modules can be used at that version, builds the binaries into dist/VERSION, sets
the version in the go.mod files and the changelog, commits that, tags the commit once
for each module, and builds the image if there is a Docker daemon. It pushes nothing.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *dry && *build {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *dir, flag.Arg(0), *dry, *build); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func release(ctx context.Context, dir, version string, dry, build bool) error {
	repo, err := publish.Open(ctx, dir)
	if err != nil {
		return err
	}
	r := publish.Release{
		Repo: repo, Version: version, Date: time.Now().UTC(), Out: filepath.Join(dir, "dist", version),
		Platforms: publish.Platforms(), Progress: os.Stdout,
	}
	if build {
		return r.Build(ctx)
	}
	return r.Prepare(ctx, dry)
}
