package seal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/seal"
)

// Each key has 32 equal bytes.
var (
	keyA = bytes.Repeat([]byte{'A'}, seal.KeySize)
	keyB = bytes.Repeat([]byte{'B'}, seal.KeySize)
	keyC = bytes.Repeat([]byte{'C'}, seal.KeySize)
)

func newBox(tb testing.TB, keys ...[]byte) *seal.Box {
	tb.Helper()
	b, err := seal.New(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func checkOpens(t *testing.T, b *seal.Box, sealed []byte, context, want string) {
	t.Helper()
	if got, err := b.Open(sealed, context); err != nil || got == nil || string(got) != want {
		t.Errorf("Open(%x, %q) = %q, %v; want %q", sealed, context, got, err, want)
	}
}

func checkClosed(t *testing.T, b *seal.Box, sealed []byte, context string) {
	t.Helper()
	if got, err := b.Open(sealed, context); got != nil || err != seal.ErrOpen {
		t.Errorf("Open(%x, %q) = %q, %v; want nil, ErrOpen", sealed, context, got, err)
	}
}

func TestRoundTrip(t *testing.T) {
	b := newBox(t, keyA)
	for _, plain := range []string{"", "x", "a secret of a user", strings.Repeat("long ", 1000)} {
		for _, context := range []string{"", "totp:7", strings.Repeat("long ", 1000)} {
			sealed := b.Seal([]byte(plain), context)
			if want := len(plain) + 31; len(sealed) != want {
				t.Errorf("Seal of %d bytes returns %d, want %d", len(plain), len(sealed), want)
			}
			checkOpens(t, b, sealed, context, plain)
			if again := b.Seal([]byte(plain), context); bytes.Equal(again, sealed) {
				t.Errorf("Seal(%q, %q) returns the same twice", plain, context)
			}
			if len(plain) > 1 && bytes.Contains(sealed, []byte(plain)) {
				t.Errorf("Seal(%q) contains it", plain)
			}
		}
	}
	checkOpens(t, b, b.Seal(nil, "c"), "c", "")
}

// Data that a release has sealed must open for ever.
func TestStored(t *testing.T) {
	b := newBox(t, keyA)
	sealed, err := hex.DecodeString(storedHex)
	if err != nil {
		t.Fatal(err)
	}
	checkOpens(t, b, sealed, "totp:7", "a secret of a user")
	if got := hex.EncodeToString(b.MAC([]byte("k5xq2m7a"), "backup:7")); got != macHex {
		t.Errorf("MAC = %s, want %s", got, macHex)
	}
}

// Another implementation of the format, in Python, has made these.
const (
	storedHex = "0156ea000102030405060708090a0b5e15ef19b3e50e458a5fbaf4ba10a2974e5cc818e68fab965581f8ed275b03b4b59e"
	macHex    = "2dade875367c64318068d30beea49fbcd32a51925676ea8ba0682fecb10bb970"
)

func TestWrongContext(t *testing.T) {
	b := newBox(t, keyA)
	sealed := b.Seal([]byte("secret"), "totp:7")
	for _, context := range []string{"", "totp:", "totp:8", "totp:77", "TOTP:7", "totp:7\x00", " totp:7"} {
		checkClosed(t, b, sealed, context)
	}
}

func TestWrongKey(t *testing.T) {
	sealed := newBox(t, keyA).Seal([]byte("secret"), "c")
	b := newBox(t, keyB)
	checkClosed(t, b, sealed, "c")
	// An id that claims to be the right one does not help.
	forged := bytes.Clone(sealed)
	copy(forged, b.Seal(nil, "")[:3])
	checkClosed(t, b, forged, "c")
}

func TestAnyChangeIsRefused(t *testing.T) {
	b := newBox(t, keyA, keyB)
	sealed := b.Seal([]byte("secret"), "c")
	for bit := range 8 * len(sealed) {
		changed := bytes.Clone(sealed)
		changed[bit/8] ^= 1 << (bit % 8)
		checkClosed(t, b, changed, "c")
	}
	for n := range sealed {
		checkClosed(t, b, sealed[:n], "c")
		checkClosed(t, b, sealed[n+1:], "c")
	}
	checkClosed(t, b, nil, "c")
	checkClosed(t, b, append(bytes.Clone(sealed), 0), "c")
	checkOpens(t, b, sealed, "c", "secret") // opening must not have changed the sealed bytes
}

func TestRotation(t *testing.T) {
	older := newBox(t, keyA)
	sealed := older.Seal([]byte("secret"), "c")
	if older.Outdated(sealed) {
		t.Error("what the first key has sealed is outdated")
	}

	both := newBox(t, keyB, keyC, keyA)
	checkOpens(t, both, sealed, "c", "secret")
	if !both.Outdated(sealed) {
		t.Error("what an older key has sealed is not outdated")
	}
	anew := both.Seal([]byte("secret"), "c")
	if both.Outdated(anew) {
		t.Error("what was sealed anew is outdated")
	}

	newer := newBox(t, keyB)
	checkOpens(t, newer, anew, "c", "secret")
	checkClosed(t, newer, sealed, "c")
	for _, s := range [][]byte{nil, sealed[:2], {2, anew[1], anew[2]}} {
		if !newer.Outdated(s) {
			t.Errorf("Outdated(%x) = false, want true", s)
		}
	}
}

func TestMAC(t *testing.T) {
	a := newBox(t, keyA)
	sum := a.MAC([]byte("data"), "context")
	if len(sum) != 32 {
		t.Errorf("MAC has %d bytes, want 32", len(sum))
	}
	if again := newBox(t, keyA).MAC([]byte("data"), "context"); !bytes.Equal(again, sum) {
		t.Errorf("MAC = %x, then %x", sum, again)
	}
	for name, other := range map[string][]byte{
		"other data":            a.MAC([]byte("Data"), "context"),
		"another context":       a.MAC([]byte("data"), "Context"),
		"another key":           newBox(t, keyB).MAC([]byte("data"), "context"),
		"data moved to context": a.MAC([]byte("ata"), "contextd"),
		"context moved to data": a.MAC([]byte("tdata"), "contex"),
		"everything in data":    a.MAC([]byte("contextdata"), ""),
		"everything in context": a.MAC(nil, "contextdata"),
	} {
		if bytes.Equal(other, sum) {
			t.Errorf("MAC is the same for %s", name)
		}
	}

	rotated := newBox(t, keyB, keyA).MACs([]byte("data"), "context")
	want := [][]byte{newBox(t, keyB).MAC([]byte("data"), "context"), sum}
	if len(rotated) != 2 || !bytes.Equal(rotated[0], want[0]) || !bytes.Equal(rotated[1], want[1]) {
		t.Errorf("MACs = %x, want %x", rotated, want)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys [][]byte
		want string
	}{
		{"no key", nil, "seal: there is no key"},
		{"nil", [][]byte{nil}, "seal: key 1 of 1 has 0 bytes, want 32"},
		{"short", [][]byte{keyA, keyB[:31]}, "seal: key 2 of 2 has 31 bytes, want 32"},
		{"as text", [][]byte{[]byte(hex.EncodeToString(keyA))}, "seal: key 1 of 1 has 64 bytes, want 32"},
		{"twice", [][]byte{keyA, keyB, keyA}, "seal: keys 1 and 3 of 3 are equal or have the same id: make another one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := seal.New(tt.keys...)
			if b != nil || fmt.Sprint(err) != tt.want {
				t.Errorf("New = %v, %v; want nil, %s", b, err, tt.want)
			}
		})
	}
}

func TestKeysAreNotKept(t *testing.T) {
	secret := bytes.Clone(keyA)
	b := newBox(t, secret)
	clear(secret)
	checkOpens(t, newBox(t, keyA), b.Seal([]byte("secret"), "c"), "c", "secret")
}

// If two keys had the same id, Outdated would be wrong, and data sealed with
// the old key would be lost with it.
func TestSameID(t *testing.T) {
	seen := make(map[string][]byte)
	for i := range 1 << 16 { // about 300 rounds are enough
		secret := fmt.Appendf(nil, "%032d", i)
		id := string(newBox(t, secret).Seal(nil, "")[:3])
		if other, ok := seen[id]; ok {
			if b, err := seal.New(other, secret); err == nil {
				t.Errorf("New(%q, %q) = %v, want an error", other, secret, b)
			}
			return
		}
		seen[id] = secret
	}
	t.Error("no two keys have the same id")
}

func TestConcurrentUse(t *testing.T) {
	b := newBox(t, keyA, keyB)
	old := newBox(t, keyB).Seal([]byte("old"), "c")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			context, plain := fmt.Sprint("c", i), fmt.Sprint("secret", i)
			for range 100 {
				checkOpens(t, b, b.Seal([]byte(plain), context), context, plain)
				checkOpens(t, b, old, "c", "old")
				b.MACs([]byte(plain), context)
			}
		})
	}
	wg.Wait()
}

// Nothing opens but the sealed bytes themselves.
func FuzzOpen(f *testing.F) {
	b := newBox(f, keyA, keyB)
	sealed := b.Seal([]byte("secret"), "c")
	f.Add(sealed, "c")
	f.Add(sealed[:20], "c")
	f.Add(newBox(f, keyB).Seal(nil, ""), "")
	f.Add([]byte{1, 0, 0}, "")
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		b.Outdated(data)
		plain, err := b.Open(data, context)
		switch {
		case err == nil && len(plain) != len(data)-31:
			t.Errorf("Open(%x, %q) has %d bytes, want %d", data, context, len(plain), len(data)-31)
		case err != nil && (!errors.Is(err, seal.ErrOpen) || plain != nil):
			t.Errorf("Open(%x, %q) = %q, %v", data, context, plain, err)
		}
		if got, err := b.Open(b.Seal(data, context), context); err != nil || !bytes.Equal(got, data) {
			t.Errorf("Open(Seal(%x, %q)) = %x, %v", data, context, got, err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	box := newBox(b, keyA)
	secret := make([]byte, 20)
	b.ReportAllocs()
	for b.Loop() {
		box.Seal(secret, "totp:7")
	}
}

func BenchmarkOpen(b *testing.B) {
	box := newBox(b, keyA)
	sealed := box.Seal(make([]byte, 20), "totp:7")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := box.Open(sealed, "totp:7"); err != nil {
			b.Fatal(err)
		}
	}
}
