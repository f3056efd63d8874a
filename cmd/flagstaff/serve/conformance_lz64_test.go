package serve

import (
	"encoding/base64"
	"math/bits"
	"strings"
	"unicode/utf16"
)

// An lz64Writer writes what lz-string's compressToBase64 could (wire.md §8). It
// keeps no dictionary, only its length, because the reader has one.
type lz64Writer struct {
	text  strings.Builder
	bits  uint64
	n     int // of bits
	width int // of codes; 0 before the first one
	next  int // entry of the dictionary
	room  int // until codes become wider
}

// put writes the low bits of v, the lowest first.
func (w *lz64Writer) put(v, n int) {
	for range n {
		w.bits = w.bits<<1 | uint64(v&1)
		v >>= 1
		if w.n++; w.n == 6 {
			const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
			w.text.WriteByte(alphabet[w.bits])
			w.bits, w.n = 0, 0
		}
	}
}

func (w *lz64Writer) grow() {
	w.next++
	if w.room--; w.room == 0 {
		w.room = 1 << w.width
		w.width++
	}
}

// literal writes a character as a new one.
func (w *lz64Writer) literal(c uint16) {
	first := w.width == 0
	if first {
		w.width = 2
	}
	size := 8
	if bits.Len16(c) > 8 {
		size = 16
	}
	w.put(size/16, w.width)
	w.put(int(c), size)
	if first {
		w.width, w.next, w.room = 3, 4, 4
		return
	}
	w.grow()
	w.grow()
}

// again writes the previous text and its first character.
func (w *lz64Writer) again() {
	w.put(w.next, w.width)
	w.grow()
}

// end returns the text.
func (w *lz64Writer) end() string {
	w.put(2, max(w.width, 2))
	for w.n != 0 {
		w.put(0, 1)
	}
	return w.text.String() + strings.Repeat("=", -w.text.Len()&3)
}

// lz64 encodes a text without making it shorter.
func lz64(s string) string {
	var w lz64Writer
	for _, c := range utf16.Encode([]rune(s)) {
		w.literal(c)
	}
	return w.end()
}

// lz64Base64 encodes JSON so that the result is base64, too.
func lz64Base64(s string) string {
	for {
		encoded := lz64(s)
		if _, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return encoded
		}
		s += " "
	}
}

// lz64Bomb is short and becomes more than 50 MiB: the n-th code stands for n
// characters of three bytes.
func lz64Bomb() string {
	var w lz64Writer
	w.literal('€')
	for range 6000 {
		w.again()
	}
	return w.end()
}
