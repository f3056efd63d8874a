package doctest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pquerna/otp/totp"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
)

const root = "../../.." // the folder of the repository

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A block is a piece of code in a document.
type block struct{ language, text string }

func blocks(document string) (list []block) {
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(document, -1) {
		list = append(list, block{m[1], m[2]})
	}
	return list
}

// start runs the demo and returns its address.
func start(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, log := io.Pipe()
	ended := make(chan int, 1)
	main := serve.Main{Args: []string{"-demo", "-addr", "127.0.0.1:0", "-drain", "0s"}, Stdout: log, Stderr: log}
	go func() {
		ended <- main.Run(ctx)
		log.Close()
	}()
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		var b []byte
		found := regexp.MustCompile(`listening on http://(\S+)`)
		for chunk := make([]byte, 4096); ; {
			n, err := out.Read(chunk)
			if len(address) == 0 {
				b = append(b, chunk[:n]...)
				if m := found.FindSubmatch(b); m != nil {
					address <- string(m[1])
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the demo ended with exit code %d", code)
		}
		<-read
	})
	select {
	case a := <-address:
		return a
	case code := <-ended:
		ended <- code
		t.Fatal("the demo ended at once")
	case <-time.After(time.Minute):
		t.Fatal("the demo does not listen")
	}
	return ""
}

var (
	// assignment sets a variable for the commands that follow. placeholder is one of
	// what only the answers before it know.
	assignment  = regexp.MustCompile(`(?m)^(?:export )?\w+=\S+$`)
	placeholder = regexp.MustCompile(`(?m)^\w+=\S*…$`)
)

// filled returns a command with its placeholders replaced by what answers said.
func filled(t *testing.T, command, answers string) string {
	t.Helper()
	last := func(pattern string) string {
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(answers, -1)
		if all == nil {
			t.Fatalf("no answer has %s", pattern)
		}
		return all[len(all)-1][1]
	}
	return placeholder.ReplaceAllStringFunc(command, func(line string) string {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "KEY":
			return "KEY=" + last(`"value":"(phx_\w+)"`)
		case "SURVEY":
			return "SURVEY=" + last(`\{"surveys":\[\{"id":"([0-9a-f-]+)"`)
		case "CODE":
			code, err := totp.GenerateCode(last(`"secret":"(\w+)"`), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return "CODE=" + code
		}
		t.Fatalf("unknown placeholder %s", name)
		return ""
	})
}

// shown finds commands of which a document shows what they print, or says it.
var shown = regexp.MustCompile(`(?m)^(?:curl|flagstaff (?:explain|flag|export|gen)|seq) `)

// build puts the program flagstaff into a folder, where commands find it.
func build(t *testing.T, folder string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "flagstaff"), "./cmd/flagstaff")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

// failed finds answers of the server that say no.
var failed = regexp.MustCompile(`"type":"\w+_error"|"error":|curl: \(`)

// TestCommands: the commands of the documents do what they say, in their order.
func TestCommands(t *testing.T) {
	for _, name := range []string{"curl", "bash", "sed", "seq"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	programs := t.TempDir()
	build(t, programs)
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"README.md", "docs/server.md", "docs/tool.md", "docs/tasks.md"} {
		t.Run(name, func(t *testing.T) {
			address, folder := start(t), t.TempDir()
			definitions := read(t, "examples/inprocess/flags.json") // the README writes them
			if err := os.WriteFile(filepath.Join(folder, "flags.json"), []byte(definitions), 0o600); err != nil {
				t.Fatal(err)
			}
			var answers, assigned strings.Builder
			ran := 0
			list := blocks(read(t, name))
			for i, b := range list {
				if b.language != "sh" || !shown.MatchString(b.text) {
					continue
				}
				ran++
				text := filled(t, strings.ReplaceAll(b.text, "127.0.0.1:8000", address), answers.String())
				command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", assigned.String()+text)
				for _, line := range assignment.FindAllString(text, -1) {
					assigned.WriteString(line + "\n")
				}
				command.Dir = folder
				var stderr bytes.Buffer
				command.Stderr = &stderr
				out, err := command.Output()
				if err != nil {
					t.Errorf("%s%v\n%s%s", b.text, err, out, stderr.Bytes())
				}
				answers.Write(out)
				if i+1 < len(list) && (list[i+1].language == "json" || list[i+1].language == "") {
					if diff := cmp.Diff(normal(list[i+1].text), normal(string(out))); diff != "" {
						t.Errorf("%s-want +got\n%s", b.text, diff)
					}
				} else if failed.Match(out) {
					t.Errorf("%s%s", b.text, out)
				}
			}
			if ran == 0 {
				t.Error("the document has no command")
			}
		})
	}
}

// TestTyped: the commands of the example with generated code print what its document shows.
func TestTyped(t *testing.T) {
	programs := t.TempDir()
	build(t, programs)
	folder := filepath.Join(root, "examples", "typed")
	list := blocks(read(t, "examples/typed/README.md"))
	ran := 0
	for i, b := range list {
		for line := range strings.Lines(b.text) {
			args := strings.Fields(line)
			if b.language != "sh" || args[0] != "flagstaff" {
				continue
			}
			ran++
			command := exec.CommandContext(t.Context(), filepath.Join(programs, "flagstaff"), args[1:]...)
			command.Dir = folder
			want := ""
			if i+1 < len(list) && list[i+1].language != "sh" {
				want = list[i+1].text
			}
			out, err := command.CombinedOutput()
			if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
				t.Errorf("%s%v; -want +got\n%s", line, err, diff)
			}
		}
	}
	if ran != 3 {
		t.Errorf("%d commands were run, want 3", ran)
	}
}

// normal returns an answer as JSON without what differs each time, or as it is.
func normal(answer string) any {
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		return strings.TrimSpace(answer)
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "requestId")
		delete(m, "evaluatedAt")
	}
	return v
}
