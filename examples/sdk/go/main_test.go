package sdk

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// folder is the temporary folder with the server's binary.
var folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "flagstaff-sdk"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	code := m.Run()
	if passed.Load()+failed.Load() > 0 {
		fmt.Printf("go: %d ok, %d failed\n", passed.Load(), failed.Load())
	}
	return code
}

// program is the path of the server's binary, which is built once.
var program = sync.OnceValues(func() (string, error) {
	file := filepath.Join(folder, "server")
	if out, err := exec.Command("go", "build", "-C", "../../server", "-o", file, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return file, nil
})

// target returns the server for the SDK: the server that the environment names,
// or a new demo server.
func target(t *testing.T) api {
	url := os.Getenv("FLAGSTAFF_URL")
	if url == "" {
		return start(t, "-demo")
	}
	return api{
		url:         strings.TrimSuffix(url, "/"),
		projectKey:  cmp.Or(os.Getenv("FLAGSTAFF_PROJECT_KEY"), "phc_demo"),
		personalKey: cmp.Or(os.Getenv("FLAGSTAFF_PERSONAL_KEY"), "phx_demo"),
		secretKey:   cmp.Or(os.Getenv("FLAGSTAFF_SECRET_KEY"), "phs_demo"),
	}
}

// start starts a demo server on a free port, waits until it listens, and stops
// it at the end of the test.
func start(t *testing.T, args ...string) api {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(file, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	// Settings in the environment are not meant for this server.
	command.Env = []string{}
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait())
		if err != nil {
			t.Errorf("server: %v", err)
		}
	})
	lines := bufio.NewScanner(log)
	var seen []string
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, log) }() // until the server ends
			return api{url, "phc_demo", "phx_demo", "phs_demo"}
		}
		seen = append(seen, lines.Text())
	}
	t.Fatalf("the server did not start:\n%s", strings.Join(seen, "\n"))
	return api{}
}
