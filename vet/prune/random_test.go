package prune_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/vet/prune"
)

// traceCode is what random programs call: everything that they do is written down.
const traceCode = `package trace

import "github.com/flagstaff-go/flagstaff/flags"

type Color string

const (
	Red   Color = "red"
	Green Color = "green"
	Blue  Color = "blue"
)

type T struct {
	Flags *flags.Evaluator
	Seed  int
	Lines []int
}

func (t *T) Do(n ...int) { t.Lines = append(t.Lines, n...) }

func (t *T) Ask(n int) bool {
	t.Do(n)
	t.Seed = t.Seed*31 + n
	return t.Seed%3 != 0
}

func (t *T) Num(n int) int {
	t.Do(-n)
	return t.Seed%5 + n
}

func (t *T) Color(n int) Color {
	t.Do(n)
	return [...]Color{Red, Green, Blue}[(t.Seed+n)%3]
}
`

const mainCode = `package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/prune/testdata/random/after"
	"github.com/flagstaff-go/flagstaff/vet/prune/testdata/random/before"
	"github.com/flagstaff-go/flagstaff/vet/prune/testdata/random/trace"
)

func run(e *flags.Evaluator, f func(*trace.T, *flags.Evaluator, int, bool) int, seed int) (t trace.T, result any) {
	t = trace.T{Flags: e, Seed: seed}
	defer func() {
		if v := recover(); v != nil {
			result = fmt.Sprint("panic: ", v)
		}
	}()
	return t, f(&t, e, seed, seed%2 == 0)
}

func main() {
	green := "green"
	s, err := flags.Compile(&flags.Definitions{Flags: []flags.Flag{
		{ID: 1, Key: "on", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}}},
		{ID: 2, Key: "off", Active: true},
		{ID: 3, Key: "button", Active: true, Filters: flags.Filters{
			Groups:       []flags.Condition{{Variant: &green}},
			Multivariate: &flags.Multivariate{Variants: []flags.Variant{{Key: "green", RolloutPercentage: 100}}},
		}},
	}}, flags.CompileOptions{Strict: true})
	if err != nil {
		panic(err)
	}
	var e flags.Evaluator
	e.Swap(s)
	for i := range before.All {
		for seed := range 7 {
			a, x := run(&e, before.All[i], seed)
			b, y := run(&e, after.All[i], seed)
			if x != y || !slices.Equal(a.Lines, b.Lines) {
				fmt.Printf("f%d(%d): returns %v after %v, and pruned %v after %v\n", i, seed, x, a.Lines, y, b.Lines)
				defer os.Exit(1)
				break
			}
		}
	}
}
`

// Calls that ask for flags.
const (
	on     = `e.Bool("on", nil, false)`
	off    = `e.Bool("off", nil, true)`
	button = `trace.Color(e.Variant("button", nil, "red"))`
)

// A generator writes random functions.
type generator struct {
	*rand.Rand
	b      strings.Builder
	scopes []map[string]bool
	depth  int
	next   int
	loops  int // around what is written
}

// number returns another number each time, so that traces tell what was done.
func (g *generator) number() int {
	g.next++
	return g.next
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, "%s%s\n", strings.Repeat("\t", g.depth+1), fmt.Sprintf(format, args...))
}

// condition returns a condition, of flags or not.
func (g *generator) condition(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0, 1:
			return "(" + g.condition(depth-1) + " && " + g.condition(depth-1) + ")"
		case 2, 3:
			return "(" + g.condition(depth-1) + " || " + g.condition(depth-1) + ")"
		case 4:
			return "!" + g.condition(depth-1)
		}
	}
	return []string{
		on, off, on, `t.Flags.Bool("on", nil, false)`,
		"(" + button + " == trace.Green)", "(" + button + " != trace.Red)", "(string(" + button + ") == \"blue\")",
		"a", "a", "(" + g.variable() + " > 2)", "(" + button + " == t.Color(" + strconv.Itoa(g.number()) + "))",
		fmt.Sprintf("t.Ask(%d)", g.number()), fmt.Sprintf("t.Ask(%d)", g.number()), "(" + off + " == a)",
	}[g.IntN(14)]
}

// variable returns a variable that can be read.
func (g *generator) variable() string {
	names := []string{"n", "x", "y", "z"} // variables of the package, unless there are others
	for _, scope := range g.scopes {
		for name := range scope {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[g.IntN(len(names))]
}

// declare returns a name that the current scope does not have.
func (g *generator) declare() (name string, ok bool) {
	name = []string{"x", "y", "z"}[g.IntN(3)]
	scope := g.scopes[len(g.scopes)-1]
	if scope[name] {
		return "", false
	}
	scope[name] = true
	return name, true
}

// block writes statements within braces.
func (g *generator) block() {
	g.depth++
	g.scopes = append(g.scopes, make(map[string]bool))
	for range g.IntN(4) {
		g.statement()
	}
	if g.IntN(5) == 0 {
		g.jump()
	}
	g.scopes = g.scopes[:len(g.scopes)-1]
	g.depth--
}

// jump writes a statement after which nothing is reached.
func (g *generator) jump() {
	switch {
	case g.loops > 0 && g.IntN(3) == 0:
		g.line("break")
	case g.loops > 0 && g.IntN(2) == 0:
		g.line("continue")
	case g.IntN(6) == 0:
		g.line("panic(%d)", g.number())
	default:
		g.line("return %d + %s", g.number(), g.variable())
	}
}

func (g *generator) statement() {
	if g.depth > 2 {
		g.line("t.Do(%d)", g.number())
		return
	}
	switch g.IntN(17) {
	case 13:
		// A loop with a label, which a branch may be the only one to use.
		label := fmt.Sprintf("loop%d", g.number())
		g.line("%s:", label)
		g.line("for range 2 {")
		loops := g.loops
		g.loops = 1
		g.line("\tfor range 2 {")
		g.depth++
		g.block()
		g.line("\tif %s {", g.condition(1))
		g.line("\t\t%s %s", []string{"break", "continue"}[g.IntN(2)], label)
		g.line("\t}")
		g.depth--
		g.line("\t}")
		g.loops = loops
		g.line("}")
	case 14:
		name := fmt.Sprintf("i%d", g.number())
		g.line("%s := 0", name)
		g.line("again%s:", name)
		g.line("%s++", name)
		g.line("if %s {", g.condition(1))
		g.block()
		g.line("\tif %s < 3 {", name)
		g.line("\t\tgoto again%s", name)
		g.line("\t}")
		g.line("}")
	case 15:
		value := fmt.Sprintf("t.Num(%d)", g.number())
		if name, ok := g.declare(); ok {
			g.line("var %s = %s", name, value)
			g.line("defer func() { t.Do(%s) }()", name)
		}
	case 16:
		name := fmt.Sprintf("f%d", g.number())
		value := []string{on, off, button + " == trace.Green"}[g.IntN(3)]
		g.line("is%s := %s", name, value)
		g.line("%s := func(n int) bool {", name)
		g.line("\treturn is%s && n > 2 || !is%s && t.Ask(n)", name, name)
		g.line("}")
		g.line("if %s(%d) && is%s {", name, g.number(), name)
		g.block()
		g.line("}")
	case 0, 1:
		g.line("t.Do(%d, %s)", g.number(), g.variable())
	case 2:
		value := fmt.Sprintf("t.Num(%d) + %s", g.number(), g.variable())
		if name, ok := g.declare(); ok {
			g.line("%s := %s", name, value)
			g.line("t.Do(%s)", name)
		}
	case 3:
		g.line("%s += %d", g.variable(), g.number())
	case 4, 5, 6:
		g.ifStatement()
	case 7:
		g.switchStatement()
	case 8:
		g.conditions()
	case 9:
		g.line("for i := range 3 {")
		g.loops++
		g.depth++
		g.line("t.Do(i)")
		g.depth--
		g.block()
		g.loops--
		g.line("}")
	case 10:
		name := fmt.Sprintf("on%d", g.number())
		g.line("%s := %s", name, []string{on, off, "!" + on}[g.IntN(3)])
		g.line("if %s {", name)
		g.block()
		if g.IntN(2) == 0 {
			g.line("} else if %s && !%s {", g.condition(1), name)
			g.block()
		}
		g.line("}")
	case 11:
		// Only one branch uses the variable.
		name := fmt.Sprintf("v%d", g.number())
		g.line("%s, ok := t.Num(%d), t.Ask(%d)", name, g.number(), g.number())
		g.line("if ok && %s {", on)
		g.line("\tt.Do(%s)", name)
		g.line("}")
		g.line("if %s {", off)
		g.line("\tt.Do(%s)", name)
		g.line("}")
	case 12:
		loops := g.loops
		g.loops = 0
		g.line("n += func() int {")
		g.block()
		g.line("\treturn %d", g.number())
		g.line("}()")
		g.loops = loops
	}
}

func (g *generator) ifStatement() {
	init := ""
	g.scopes = append(g.scopes, make(map[string]bool))
	switch g.IntN(5) {
	case 0:
		value := fmt.Sprintf("t.Num(%d)", g.number())
		name, _ := g.declare()
		init = fmt.Sprintf("%s := %s; %s > 1 && ", name, value, name)
	case 1:
		init = fmt.Sprintf("t.Do(%d); ", g.number())
	case 2:
		name := fmt.Sprintf("on%d", g.number())
		init = fmt.Sprintf("%s := %s; %s && ", name, on, name)
	}
	g.line("if %s%s {", init, g.condition(2))
	g.block()
	for g.IntN(3) == 0 {
		if g.IntN(3) == 0 {
			value := fmt.Sprintf("t.Num(%d)", g.number())
			if name, ok := g.declare(); ok {
				g.line("} else if %s := %s; %s > 2 || %s {", name, value, name, g.condition(1))
				g.block()
				continue
			}
		}
		g.line("} else if %s {", g.condition(2))
		g.block()
	}
	if g.IntN(2) == 0 {
		g.line("} else {")
		g.block()
	}
	g.line("}")
	g.scopes = g.scopes[:len(g.scopes)-1]
}

func (g *generator) switchStatement() {
	tag := []string{button, "v := " + button + "; v", on, fmt.Sprintf("t.Do(%d); %s", g.number(), button)}[g.IntN(4)]
	cases := []string{"trace.Red", "trace.Green", "trace.Blue"}
	if tag == on {
		cases = []string{"true", "false"}
	} else if g.IntN(4) == 0 {
		cases = append(cases, fmt.Sprintf("t.Color(%d)", g.number()))
	}
	g.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	if g.IntN(4) == 0 {
		cases = cases[1:]
	}
	at := g.IntN(len(cases) + 1)
	g.line("switch %s {", tag)
	loops := g.loops
	g.loops = 0 // a break would leave the switch
	for i, c := range cases {
		if i == at {
			g.line("default:")
			g.block()
		}
		g.line("case %s:", c)
		g.block()
		switch {
		case i < len(cases)-1 && g.IntN(5) == 0:
			g.line("\tfallthrough")
		case g.IntN(5) == 0:
			g.line("\tbreak")
		case g.IntN(6) == 0:
			g.line("\tif %s {", g.condition(1))
			g.line("\t\tbreak")
			g.line("\t}")
		}
	}
	g.loops = loops
	g.line("}")
}

func (g *generator) conditions() {
	g.line("switch {")
	loops := g.loops
	g.loops = 0
	at := g.IntN(5)
	for i := range 1 + g.IntN(3) {
		if i == at {
			g.line("default:")
			g.block()
		}
		list := g.condition(1)
		if g.IntN(3) == 0 {
			list += ", " + g.condition(1)
		}
		g.line("case %s:", list)
		g.block()
	}
	g.loops = loops
	g.line("}")
}

// program returns a package with functions f0, f1 and so on.
func (g *generator) program(functions int) string {
	g.b.WriteString("package before\n\nimport (\n\t\"github.com/flagstaff-go/flagstaff/flags\"\n\t\"github.com/flagstaff-go/flagstaff/vet/prune/testdata/random/trace\"\n)\n\nvar x, y, z = 1, 2, 3\n")
	for i := range functions {
		fmt.Fprintf(&g.b, "\nfunc f%d(t *trace.T, e *flags.Evaluator, n int, a bool) int {\n", i)
		g.scopes = []map[string]bool{{}}
		for range 2 + g.IntN(4) {
			g.statement()
		}
		g.line("return %d", g.number())
		g.b.WriteString("}\n")
	}
	g.b.WriteString("\n// All are all functions.\nvar All = []func(*trace.T, *flags.Evaluator, int, bool) int{\n")
	for i := range functions {
		fmt.Fprintf(&g.b, "\tf%d,\n", i)
	}
	g.b.WriteString("}\n")
	return g.b.String()
}

// TestRandomPrograms compares what random functions do before and after they are pruned,
// while the flags have their settled values. FLAGSTAFF_RANDOM_SEED sets the seed.
func TestRandomPrograms(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv("FLAGSTAFF_RANDOM_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("FLAGSTAFF_RANDOM_SEED=%q: want a number", s)
		}
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	root, err := filepath.Abs("testdata/random")
	if err != nil {
		t.Fatal(err)
	}
	path := func(pkg string) string { return filepath.Join(root, pkg, pkg+".go") }
	overlay := map[string][]byte{
		path("trace"):  []byte(traceCode),
		path("before"): []byte(g.program(fulltest.Count(40, 80))),
	}
	o := options(t, "on", "off", "button")
	o.Values = map[string]string{"off": "false"}
	o.Overlay = overlay
	report, err := prune.Run(t.Context(), o, "./testdata/random/before")
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(report.Files) != 1 {
		t.Fatalf("seed %d: %d files change, want 1", seed, len(report.Files))
	}
	if n := report.Calls["on"] + report.Calls["off"] + report.Calls["button"]; n < 10*len(report.Left) {
		t.Errorf("seed %d: %d calls were replaced, and %d left", seed, n, len(report.Left))
	}
	overlay[path("after")] = bytes.Replace(report.Files[0].New, []byte("package before"), []byte("package after"), 1)
	overlay[path("main")] = []byte(mainCode)
	files := make(map[string]string)
	folder := t.TempDir()
	for name, text := range overlay {
		files[name] = filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(files[name], text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "overlay.json"), list, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "-overlay", filepath.Join(folder, "overlay.json"), "./testdata/random/main").CombinedOutput()
	if err != nil {
		t.Fatalf("FLAGSTAFF_RANDOM_SEED=%d: %v\n%s", seed, err, out)
	}
}
