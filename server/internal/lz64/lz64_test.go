package lz64_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/server/internal/lz64"
)

type vector struct{ Name, Text, Encoded string }

func vectors(t testing.TB) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestVectors(t *testing.T) {
	var d lz64.Decoder // shared by all texts: the dictionary must not leak into the next text
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			got, err := d.Append([]byte("before "), []byte(v.Encoded), 1<<20)
			if want := "before " + v.Text; err != nil || string(got) != want {
				t.Errorf("Append(%q) = %q, %v, want %q", v.Encoded, got, err, want)
			}
		})
	}
}

func TestPadding(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"as written", "BYUwNmD2Q===", "hello"},
		{"none", "BYUwNmD2Q", "hello"},
		{"too much", "BYUwNmD2Q=====", "hello"},
		{"text after the end is ignored", "BYUwNmD2Qabc", "hello"},
		{"blank for plus", strings.ReplaceAll("N4IgpgbmB2AuIC4QEvA1BIFg3B4uyAvkA===", "+", " "), `{"event":"é€𝄞"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(lz64.Decoder).Append(nil, []byte(tt.in), 100)
			if err != nil || string(got) != tt.want {
				t.Errorf("Append(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestCorrupt(t *testing.T) {
	for _, tt := range []struct{ name, in string }{
		{"empty", ""},
		{"only padding", "==="},
		{"cut off", "BYUwNm"},
		{"cut off in a character", "BY"},
		{"not base64", "BYUw\nmD2Q==="},
		{"URL alphabet", "BYUw-mD2Q==="},
		{"begins with a dictionary entry", "wwww"},
		{"entry that does not exist", "BYf/////"},
		{"JSON", `{"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(lz64.Decoder).Append([]byte("x"), []byte(tt.in), 1000)
			if !errors.Is(err, lz64.ErrCorrupt) || string(got) != "x" {
				t.Errorf("Append(%q) = %q, %v, want ErrCorrupt", tt.in, got, err)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	var d lz64.Decoder
	for _, v := range vectors(t) {
		n := len(v.Text)
		if got, err := d.Append(nil, []byte(v.Encoded), n); err != nil || string(got) != v.Text {
			t.Errorf("%s: Append with limit %d = %d bytes, %v", v.Name, n, len(got), err)
		}
		if n == 0 {
			continue
		}
		if _, err := d.Append(nil, []byte(v.Encoded), n-1); !errors.Is(err, lz64.ErrTooLarge) {
			t.Errorf("%s: Append with limit %d: %v, want ErrTooLarge", v.Name, n-1, err)
		}
	}
	if got, err := d.Append(nil, []byte("BYUwNmD2Q==="), math.MaxInt); err != nil || string(got) != "hello" {
		t.Errorf("Append without limit = %q, %v", got, err)
	}
}

// TestBomb decodes n repetitions of one character, each written as the entry
// that it completes, so that the text grows with the square of the input.
func TestBomb(t *testing.T) {
	bomb := repetition(3_000)
	var d lz64.Decoder
	if got, err := d.Append(nil, bomb, 1<<30); err != nil || len(got) < 600*len(bomb) {
		t.Errorf("%d bytes become %d, %v: that proves little", len(bomb), len(got), err)
	}
	bomb = repetition(30_000) // 450 MB
	got, err := d.Append(make([]byte, 0, 2<<20), bomb, 1<<20)
	if !errors.Is(err, lz64.ErrTooLarge) || cap(got) > 2<<20 {
		t.Errorf("bomb: %v, want ErrTooLarge, with %d bytes of memory", err, cap(got))
	}
}

// repetition writes the character a, and then n times the code of the next
// entry.
func repetition(n int) []byte {
	var (
		out  []byte
		acc  uint64
		have int
	)
	put := func(v uint64, width int) {
		for range width {
			acc = acc<<1 | v&1
			v >>= 1
			if have++; have == 6 {
				out = append(out, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[acc])
				acc, have = 0, 0
			}
		}
	}
	put(0, 2)
	put('a', 8)
	width, room := 3, 4
	for code := range n {
		put(uint64(code+4), width)
		if room--; room == 0 {
			room = 1 << width
			width++
		}
	}
	put(2, width)
	put(0, 6)
	return out
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var (
		d   lz64.Decoder
		dst []byte
		in  = []byte(vectors(t)[15].Encoded)
	)
	dst, err := d.Append(dst, in, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { dst, _ = d.Append(dst[:0], in, 1<<20) }); n != 0 {
		t.Errorf("Append allocates %v times, want 0", n)
	}
}

func FuzzAppend(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Encoded))
	}
	f.Add(repetition(500))
	f.Fuzz(func(t *testing.T, in []byte) {
		const max = 1 << 16
		var d lz64.Decoder
		got, err := d.Append([]byte("before"), in, max)
		if !bytes.HasPrefix(got, []byte("before")) {
			t.Fatalf("Append(%q) overwrote dst: %q", in, got)
		}
		got = got[6:]
		if err != nil && len(got) > 0 || len(got) > max || !utf8.Valid(got) {
			t.Fatalf("Append(%q) = %q, %v", in, got, err)
		}
		// A used decoder gives the same result.
		again, errAgain := d.Append(nil, in, max)
		if !bytes.Equal(got, again) || !errors.Is(errAgain, err) {
			t.Fatalf("Append(%q) = %q, %v and then %q, %v", in, got, err, again, errAgain)
		}
		if err == nil && len(got) > 0 {
			if _, err := d.Append(nil, in, len(got)-1); !errors.Is(err, lz64.ErrTooLarge) {
				t.Fatalf("Append(%q) with too low a limit: %v", in, err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	v := vectors(b)[15]
	in := []byte(v.Encoded)
	b.Run("lz64", func(b *testing.B) {
		var d lz64.Decoder
		var dst []byte
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			dst, _ = d.Append(dst[:0], in, 1<<20)
		}
	})
	b.Run("floor=base64", func(b *testing.B) {
		var dst []byte
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			dst, _ = base64.StdEncoding.AppendDecode(dst[:0], in)
		}
	})
}
