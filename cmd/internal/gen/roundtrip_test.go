package gen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/gen"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// A trip is what the compiled program gets: definitions, and for whom flags are asked.
type trip struct {
	Documents []json.RawMessage
	Requests  []asked
}

// An asked person is a request in JSON.
type asked struct {
	ID         string
	Properties map[string]any
	Groups     map[string]string
	Now        time.Time
}

func (a *asked) request() *flags.Request {
	return &flags.Request{DistinctID: a.ID, PersonProperties: a.Properties, Groups: a.Groups, Now: a.Now}
}

// tripProgram asks all handles, once without flags and then for each request, and prints
// the values.
const tripProgram = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

type handle struct {
	document int
	in       func(*flags.Snapshot, *flags.Request) any
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var trip struct {
		Documents []json.RawMessage
		Requests  []struct {
			ID         string
			Properties map[string]any
			Groups     map[string]string
			Now        time.Time
		}
	}
	if err := json.NewDecoder(os.Stdin).Decode(&trip); err != nil {
		return err
	}
	compile := func(document []byte) (*flags.Snapshot, error) {
		d, err := flags.Decode(bytes.NewReader(document))
		if err != nil {
			return nil, err
		}
		return flags.Compile(d, flags.CompileOptions{})
	}
	empty, err := compile([]byte("{\"flags\":[]}"))
	if err != nil {
		return err
	}
	var snapshots []*flags.Snapshot
	for _, document := range trip.Documents {
		s, err := compile(document)
		if err != nil {
			return err
		}
		snapshots = append(snapshots, s)
	}
	out := make([][]any, len(handles))
	for i, h := range handles {
		out[i] = []any{h.in(empty, new(flags.Request))}
		for _, r := range trip.Requests {
			out[i] = append(out[i], h.in(snapshots[h.document], &flags.Request{DistinctID: r.ID, PersonProperties: r.Properties, Groups: r.Groups, Now: r.Now}))
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

var handles = []handle{
`

// TestRoundTrip: code for the flags of the demo and of random documents compiles, and its
// handles answer as the snapshots do. All flags are in one program, each document with
// keys of its own.
func TestRoundTrip(t *testing.T) {
	demo, err := os.ReadFile(filepath.Join("..", "..", "flagstaff", "serve", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := os.ReadFile(filepath.Join("testdata", "typed.json"))
	if err != nil {
		t.Fatal(err)
	}
	documents := [][]byte{demo, typed}
	for seed := range fulltest.Count(20, 200) {
		documents = append(documents, reference.NewGenerator(uint64(seed)).Document())
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	trip := trip{Requests: []asked{
		{ID: "user-1", Properties: map[string]any{"plan": "pro", "country": "FR", "email": "ada@example.com", "age": 30}, Now: now},
		{ID: "user-2", Properties: map[string]any{"plan": "free", "country": "DE", "is_active": true}, Groups: map[string]string{"company": "acme"}, Now: now},
		{ID: "user-3", Now: now},
		{ID: "distinct_id_0", Now: now},
		{ID: "", Now: now},
	}}
	var all []gen.Flag
	var snapshots []*flags.Snapshot
	for i, document := range documents {
		own := withPrefix(t, document, fmt.Sprintf("d%d-", i))
		trip.Documents = append(trip.Documents, own)
		list, _, err := gen.Read(own)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
		d, err := flags.Decode(bytes.NewReader(own))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, s)
	}
	code, err := gen.Code(all, gen.Options{Package: "main"})
	if err != nil {
		t.Fatal(err)
	}
	handles := handlesIn(t, code)
	var program strings.Builder
	program.WriteString(tripProgram)
	for _, h := range handles {
		fmt.Fprintf(&program, "\t{%d, func(s *flags.Snapshot, r *flags.Request) any { return %s.In(s, r) }},\n", h.document, h.name)
	}
	program.WriteString("}\n")

	var got [][]json.RawMessage
	input, err := json.Marshal(trip)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(runProgram(t, map[string][]byte{"main.go": []byte(program.String()), "flags.go": code}, input), &got); err != nil {
		t.Fatal(err)
	}
	known, wrong := make(map[string]*gen.Flag), 0
	for i := range all {
		known[all[i].Key] = &all[i]
	}
	on := 0 // answers that are not the fallback
	for i, h := range handles {
		for j := range trip.Requests {
			want := h.answer(t, snapshots[h.document], trip.Requests[j].request(), known[h.key], got[i][0])
			if !bytes.Equal(want, got[i][0]) {
				on++
			}
			if diff := cmp.Diff(string(want), string(got[i][1+j])); diff != "" && wrong < 10 {
				wrong++
				t.Errorf("%s of %q for %+v (-snapshot +handle)\n%s\n%s", h.kind, h.key, trip.Requests[j], diff, trip.Documents[h.document])
			}
		}
	}
	if len(handles) < 3*len(documents) || on < len(handles)/2 {
		t.Errorf("%d handles for %d documents, with %d answers that are not the fallback: the test tests little", len(handles), len(documents), on)
	}
}

// withPrefix returns a document whose flags have longer keys.
func withPrefix(t *testing.T, document []byte, prefix string) []byte {
	t.Helper()
	var d map[string]json.RawMessage
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d["flags"], &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		var key string
		if err := json.Unmarshal(f["key"], &key); err != nil {
			t.Fatal(err)
		}
		f["key"], _ = json.Marshal(prefix + key)
	}
	d["flags"], _ = json.Marshal(list)
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A declaredHandle is a variable of generated code.
type declaredHandle struct {
	name, kind, key string
	document        int
}

// handlesIn returns the handles that code declares.
func handlesIn(t *testing.T, code []byte) (list []declaredHandle) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "flags.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, spec := range decl.Specs {
			v := spec.(*ast.ValueSpec)
			call := v.Values[0].(*ast.CallExpr)
			made := call.Fun
			if index, ok := made.(*ast.IndexExpr); ok {
				made = index.X
			}
			key, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			h := declaredHandle{name: v.Names[0].Name, kind: made.(*ast.SelectorExpr).Sel.Name, key: key}
			if _, err := fmt.Sscanf(key, "d%d-", &h.document); err != nil {
				t.Fatalf("key %q: %v", key, err)
			}
			list = append(list, h)
		}
	}
	return list
}

// answer returns what the handle should answer, by what the snapshot says of the flag.
func (h *declaredHandle) answer(t *testing.T, s *flags.Snapshot, request *flags.Request, f *gen.Flag, fallback json.RawMessage) json.RawMessage {
	t.Helper()
	r, err := s.Flag(h.key, request)
	if err != nil || r.Failed {
		return fallback
	}
	var value any
	if d, _ := s.Detail(h.key, request); d.Ruled() && h.kind != "NewPayload" {
		v, ok := d.Typed()
		if !ok {
			return fallback
		}
		if v.Type == "number" {
			v.JSON = strconv.FormatFloat(v.Number, 'g', -1, 64)
		}
		return json.RawMessage(v.JSON)
	}
	switch h.kind {
	case "NewBool":
		value = r.Enabled
	case "NewVariant":
		text := fmt.Sprint(r.Value())
		if text == "false" || !slices.ContainsFunc(f.Variants, func(v gen.Variant) bool { return v.Key == text }) {
			return fallback
		}
		value = text
	case "NewPayload":
		if r.Metadata.Payload == "" || strings.TrimSpace(r.Metadata.Payload) == "null" {
			return fallback
		}
		decoded := reflect.New(gen.TypeOf(f.Payloads))
		if err := json.Unmarshal([]byte(r.Metadata.Payload), decoded.Interface()); err != nil {
			t.Fatalf("payload %s of %q: %v", r.Metadata.Payload, h.key, err)
		}
		value = decoded.Interface()
	default:
		t.Fatalf("%s of %q: another kind of handle", h.kind, h.key)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// overlay puts files into a folder of this module that does not exist, and returns what
// the go command is to be told about it.
func overlay(t testing.TB, name string, files map[string][]byte) (option string) {
	t.Helper()
	folder, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	replace := make(map[string]string)
	for name, text := range files {
		file := filepath.Join(temporary, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(folder, name)] = file
	}
	described, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temporary, "overlay.json")
	if err := os.WriteFile(file, described, 0o644); err != nil {
		t.Fatal(err)
	}
	return "-overlay=" + file
}

// runProgram compiles files as one program of this module, runs it, and returns what it
// prints.
func runProgram(t *testing.T, files map[string][]byte, input []byte) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), "roundtrip")
	command := exec.CommandContext(t.Context(), "go", "build", overlay(t, "roundtrip", files), "-ldflags=-s -w", "-o", program, "./roundtrip")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	command = exec.CommandContext(t.Context(), program)
	command.Stdin = bytes.NewReader(input)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("the program: %v\n%s", err, out)
	}
	return out
}

// BenchmarkCompile compiles the generated package alone, for 1,000 flags of which each
// third has variants and payloads. The floor is the same without variants and payloads.
// It reports the seconds of a processor that go build takes.
func BenchmarkCompile(b *testing.B) {
	for _, row := range []struct {
		name  string
		plain int // how many of three flags have neither variants nor payloads
	}{{"flags", 2}, {"floor", 3}} {
		b.Run(row.name, func(b *testing.B) {
			list := make([]gen.Flag, 1000)
			for i := range list {
				f := &list[i]
				f.Key, f.Description = fmt.Sprintf("flag-%d", i), fmt.Sprintf("Flag number %d.", i)
				if i%3 < row.plain {
					continue
				}
				f.Kind = gen.Variants
				for _, key := range []string{"control", "blue", "green"} {
					f.Variants = append(f.Variants, gen.Variant{Key: key})
					const payload = `{"color": %q, "label": "Buy", "border": {"width": 1.5, "dashed": true}, "steps": [1, 2]}`
					f.Payloads = append(f.Payloads, fmt.Appendf(nil, payload, key))
				}
			}
			code, err := gen.Code(list, gen.Options{Package: "thousand"})
			if err != nil {
				b.Fatal(err)
			}
			build := func(mark int64) time.Duration {
				option := overlay(b, "thousand", map[string][]byte{"flags.go": fmt.Appendf(code, "\n// %d\n", mark)})
				command := exec.CommandContext(b.Context(), "go", "build", option, "./thousand")
				if out, err := command.CombinedOutput(); err != nil {
					b.Fatalf("%v: %v\n%s", command, err, out)
				}
				return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
			}
			mark := time.Now().UnixNano() // what was compiled before is in the cache
			build(mark)                   // with the imports
			least := time.Duration(math.MaxInt64)
			for b.Loop() {
				mark++
				least = min(least, build(mark))
			}
			b.ReportMetric(least.Seconds(), "cpu-s/op")
		})
	}
}
