package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const forPrune = `{"flags":[
	{"id":1,"key":"new-checkout","active":true,"filters":{"groups":[{"rollout_percentage":100}]}},
	{"id":2,"key":"beta","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
	{"id":3,"key":"later","active":true,"filters":{"groups":[{"rollout_percentage":0}]}}
]}`

// Files of a module with the name of the library, so that nothing else must be compiled.
const (
	pruneLibrary = `package flagstaff

import "context"

type BoolFlag struct{ key string }

func NewBool(key string, fallback bool) *BoolFlag { return &BoolFlag{key} }

func (f *BoolFlag) On(context.Context) bool { return false }
`
	pruneCode = `package shop

import (
	"context"

	"github.com/flagstaff-go/flagstaff"
)

var newCheckout = flagstaff.NewBool("new-checkout", false)

func Checkout(ctx context.Context) string {
	if newCheckout.On(ctx) {
		return "new"
	}
	return "old"
}

func Wait(ctx context.Context) {
	for newCheckout.On(ctx) {
	}
}
`
	pruneOpen = `package shop

import "github.com/flagstaff-go/flagstaff"

const later = "later"

func made(key string) *flagstaff.BoolFlag { return flagstaff.NewBool(key, false) }
`
	prunedCode = `package shop

import (
	"context"

	"github.com/flagstaff-go/flagstaff"
)

var newCheckout = flagstaff.NewBool("new-checkout", false)

func Checkout(ctx context.Context) string {
	return "new"
}

func Wait(ctx context.Context) {
	for newCheckout.On(ctx) {
	}
}
`
)

// TestPrune prunes a module: first it says what it would do, then it does it.
func TestPrune(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := write(t, "flags.json", forPrune)
	if err := os.Mkdir(filepath.Join(folder, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	shop := filepath.Join(folder, "shop", "shop.go")
	for name, text := range map[string]string{
		filepath.Join(folder, "go.mod"):       "module github.com/flagstaff-go/flagstaff\n\ngo 1.26\n",
		filepath.Join(folder, "flagstaff.go"): pruneLibrary,
		shop:                                  pruneCode,
	} {
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	pruned := func(args ...string) outcome {
		t.Helper()
		c := call{args: append([]string{"prune"}, args...), env: []string{"GOFLAGS=" + os.Getenv("GOFLAGS"), "GOWORK=off", "FLAGSTAFF_KEY=phx_secret"}}.process(t)
		var stdout, stderr bytes.Buffer
		c.Dir, c.Stdout, c.Stderr = folder, &stdout, &stderr
		if err := c.Run(); c.ProcessState == nil {
			t.Fatal(err)
		}
		return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}

	dry := pruned("-flags", file, "-n", "new-checkout")
	const left = `shop/shop.go:19: flag "new-checkout": a loop asks each time
1 call replaced in 1 file, 1 place left
`
	if dry.Code != 1 || dry.Stderr != left || !strings.Contains(dry.Stdout, "\n-	if newCheckout.On(ctx) {\n-		return \"new\"\n-	}\n-	return \"old\"\n+	return \"new\"\n") {
		t.Errorf("with -n: %+v", dry)
	}
	if now, err := os.ReadFile(shop); err != nil || string(now) != pruneCode {
		t.Errorf("-n has written %s, %v", now, err)
	}

	pruned("-flags", file, "beta").want(t, outcome{1, "", `flagstaff prune: flag "beta" is not settled: it is on for 50 % of all` + "\n"})
	pruned("-flags", file, "later").want(t, outcome{1, "", `flagstaff prune: flag "later" is not settled: it is on for nobody, and may be yet to come; give it the value false if that is for good` + "\n"})
	pruned("-flags", file, "nwe-checkout").want(t, outcome{1, "", `flagstaff prune: there is no flag "nwe-checkout" in the definitions; did you mean "new-checkout"?` + "\n"})
	pruned("-value", "later=false", "--", "./shop").want(t, outcome{0, "no code asks for flag \"later\"\n0 calls replaced in 0 files, 0 places left\n", ""})

	open := filepath.Join(folder, "shop", "open.go")
	if err := os.WriteFile(open, []byte(pruneOpen), 0o600); err != nil {
		t.Fatal(err)
	}
	pruned("-value", "later=false", "--", "./shop").want(t, outcome{1, `shop/open.go:5: flag "later": the key is a text here
shop/open.go:7: any flag: the key of this handle is not a constant
no code is known to ask for flag "later", but 2 places above may
0 calls replaced in 0 files, 2 places left
`, ""})
	if err := os.Remove(open); err != nil {
		t.Fatal(err)
	}

	pruned("-flags", file, "new-checkout", "--", "./shop").want(t, outcome{1, "shop/shop.go\n" + strings.Replace(left, ":19:", ":16:", 1), ""})
	now, err := os.ReadFile(shop)
	if diff := gocmp.Diff(prunedCode, string(now)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if info, err := os.Stat(shop); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v; want the mode that the file had", info.Mode(), err)
	}
	if err := os.WriteFile(shop, []byte(strings.Replace(pruneCode, "newCheckout.On", "new.On", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := pruned("-flags", file, "new-checkout"); got.Code != 1 || !strings.Contains(got.Stderr, "do not compile") {
		t.Errorf("for code that does not compile: %+v", got)
	}
}
