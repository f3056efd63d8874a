package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	dir := flag.String("C", ".", "the checkout's `FOLDER`")
	dry := flag.Bool("n", false, "check, say what would be done, and do nothing")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), `Usage: .ci/release [-n] VERSION

Makes the release of VERSION, such as v0.1.0, in a clean checkout: proves that the
modules can be used at that version, sets it in the go.mod files and the changelog,
commits that, and tags the commit once for each module. It pushes nothing. When
somebody pushes the tags, GoReleaser makes the archives and the image.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	version := flag.Arg(0)
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := plan(*dir, version, time.Now().UTC())
	if err != nil {
		log.Fatal(err)
	}
	if *dry {
		fmt.Printf("would set %s in %s, commit that on %s, and tag the commit %s\nnothing was changed\n",
			version, strings.Join(r.names(), ", "), r.branch, strings.Join(r.tags, ", "))
		return
	}
	proof := exec.Command("go", "test", "-run", "^TestConsume$", "-count=1", "-timeout", "30m", "./cmd/release", "-release", version)
	proof.Dir, proof.Stdout, proof.Stderr = filepath.Join(*dir, ".ci"), os.Stdout, os.Stderr
	if err := proof.Run(); err != nil {
		log.Fatalf("the modules cannot be used at %s: %v", version, err)
	}
	if err := r.make(); err != nil {
		log.Fatal(err)
	}
	// GitHub starts no workflow if more than three tags come at once.
	others := slices.DeleteFunc(r.tags, func(tag string) bool { return tag == version })
	fmt.Printf("committed on %s and tagged; nothing was pushed; to publish:\ngit push --atomic origin %s %s\ngit push origin %s\n",
		r.branch, r.branch, strings.Join(others, " "), version)
}
