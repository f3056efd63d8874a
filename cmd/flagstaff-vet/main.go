package main

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/flagstaff-go/flagstaff/vet"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-V=full" {
		if err := printVersion(os.Stdout, "."); err != nil {
			fmt.Fprintln(os.Stderr, "flagstaff-vet:", err)
			os.Exit(1)
		}
		return
	}
	unitchecker.Main(vet.Analyzer)
}

// printVersion prints what the go command takes for the version of the tool: results are
// kept as long as it is the same. So it has the sums of the program, the configuration and
// the definitions.
func printVersion(w io.Writer, folder string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := add(sum, program); err != nil {
		return err
	}
	c, err := vet.FindConfig(folder, "")
	if err != nil {
		return err
	}
	for _, name := range []string{c.Path, c.Flags} {
		if name == "" {
			continue
		}
		if err := add(sum, name); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s version devel buildID=%x\n", filepath.Base(program), sum.Sum(nil))
	return err
}

// add adds the content of a file, and where it ends.
func add(sum hash.Hash, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := io.Copy(sum, file)
	if err == nil {
		_, err = fmt.Fprintln(sum, n)
	}
	return err
}
