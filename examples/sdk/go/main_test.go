package sdk

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// target is the server under test, with its demo or with what the environment
// names. program is the server's binary, built once.
var (
	target  api
	program string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "flagstaff-sdk")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "server")
	build := exec.Command("go", "build", "-C", "../../server", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the server: %w\n%s", err, out)
	}
	url := os.Getenv("FLAGSTAFF_URL")
	if url == "" {
		var stop func() error
		if url, stop, err = start("-demo"); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	target = api{
		url:         strings.TrimSuffix(url, "/"),
		projectKey:  cmp.Or(os.Getenv("FLAGSTAFF_PROJECT_KEY"), "phc_demo"),
		personalKey: cmp.Or(os.Getenv("FLAGSTAFF_PERSONAL_KEY"), "phx_demo"),
		secretKey:   cmp.Or(os.Getenv("FLAGSTAFF_SECRET_KEY"), "phs_demo"),
	}
	code = m.Run()
	fmt.Printf("go: %d ok, %d failed\n", passed.Load(), failed.Load())
	return code, nil
}

// start starts a server on a free port and waits until it listens.
func start(args ...string) (url string, stop func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	command := exec.CommandContext(ctx, program, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	// The environment may hold settings of a server, which are those of the target.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	log, err := command.StderrPipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() error {
		cancel()
		if err := command.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("server: %w", err)
		}
		return nil
	}
	lines := bufio.NewScanner(log)
	var seen []string
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, log) }() // until it ends
			return url, stop, nil
		}
		seen = append(seen, lines.Text())
	}
	return "", nil, fmt.Errorf("the server did not start: %w\n%s", stop(), strings.Join(seen, "\n"))
}
