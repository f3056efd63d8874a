package flags

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// TestJoinedXX64 compares the hash of two texts with the one of both together, for all
// lengths.
func TestJoinedXX64(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte(random.IntN(128))
	}
	hashed := 0
	for k := range 40 {
		for n := k; n <= k+201; n++ {
			got, ok := joinedXX64(string(text[:k]), string(text[k:n]))
			if !ok {
				continue
			}
			hashed++
			if want := xxhash.Sum64(text[:n]); got != want {
				t.Fatalf("%d bytes behind %d: %x, want %x", n-k, k, got, want)
			}
			other := append([]byte(nil), text[:n]...)
			other[random.IntN(n)] |= 0x80
			if _, ok := joinedXX64(string(other[:k]), string(other[k:])); ok {
				t.Fatalf("%d bytes behind %d: a byte beyond ASCII is not seen", n-k, k)
			}
		}
	}
	if hashed < 24*150 {
		t.Errorf("only %d texts are hashed so", hashed)
	}
}

// TestQuickBucket compares the short cut's bucket with the hash of the whole text, for both
// hashes, on both sides of all lengths at which it goes another way.
func TestQuickBucket(t *testing.T) {
	for _, prefix := range []string{"f.", "new-checkout.", "é-checkout.", strings.Repeat("k", 31) + ".", strings.Repeat("k", 300) + "."} {
		for _, letter := range []string{"x", "é"} {
			for n := range 202 {
				subject := strings.Repeat(letter, n)
				for _, salt := range []string{saltRollout, saltVariant} {
					for _, hash := range []hashKind{kindSHA1, kindXX64} {
						f := compiledFlag{prefix: prefix, hash: hash}
						got, ok := f.quickBucket(subject, salt)
						if wantOK := len(subject) <= 200 && len(prefix)+len(subject)+len(salt) <= 400 || n == 0; ok != wantOK {
							t.Fatalf("%q, %q, %q: ok = %v", prefix, subject, salt, ok)
						}
						want := 0.0
						if n > 0 {
							want = hash.bucket([]byte(prefix + subject + salt))
						}
						if ok && got != want {
							t.Fatalf("%q, %q, %q: %v, want %v", prefix, subject, salt, got, want)
						}
					}
				}
			}
		}
	}
}
