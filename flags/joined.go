package flags

import "math/bits"

// The numbers of xxHash64.
const (
	xxPrime1 uint64 = 0x9E3779B185EBCA87
	xxPrime2 uint64 = 0xC2B2AE3D27D4EB4F
	xxPrime3 uint64 = 0x165667B19E3779F9
	xxPrime4 uint64 = 0x85EBCA77C2B2AE63
	xxPrime5 uint64 = 0x27D4EB2F165667C5
)

// xxStripe is how many bytes xxHash64 takes at a time.
const xxStripe = 32

// joinedXX64 returns the xxHash64 of a flag's prefix with a subject behind it. It reads both
// where they are: a hash of bytes that were just put together has to wait until they are
// written. It is not ok if one of them has other characters than ASCII's, or a length for
// which that is not worth its code: the prefix must begin and end in the first stripe, and
// the subject must end behind it.
func joinedXX64(prefix, subject string) (h uint64, ok bool) {
	k, n := len(prefix), len(prefix)+len(subject)
	if k < 8 || k >= xxStripe || n < xxStripe+8 || len(subject) < 8 {
		return 0, false
	}

	// The first stripe has the prefix, a word that has both, and words of the subject.
	var first [4]uint64
	i := 0
	for ; i+8 <= k; i += 8 {
		first[i/8&3] = load64(prefix, i)
	}
	if both := uint(k & 7); both != 0 {
		first[i/8&3] = load64(prefix, k-8)>>(64-8*both) | load64(subject, 0)<<(8*both)
		i += 8
	}
	for ; i < xxStripe; i += 8 {
		first[i/8&3] = load64(subject, i-k)
	}
	all := first[0] | first[1] | first[2] | first[3]
	start := xxPrime1 // its sums may overflow
	a, b := xxRound(start+xxPrime2, first[0]), xxRound(xxPrime2, first[1])
	c, d := xxRound(0, first[2]), xxRound(-start, first[3])
	for ; i+xxStripe <= n; i += xxStripe {
		s := subject[i-k:]
		w0, w1, w2, w3 := load64(s, 0), load64(s, 8), load64(s, 16), load64(s, 24)
		all |= w0 | w1 | w2 | w3
		a, b, c, d = xxRound(a, w0), xxRound(b, w1), xxRound(c, w2), xxRound(d, w3)
	}
	h = bits.RotateLeft64(a, 1) + bits.RotateLeft64(b, 7) + bits.RotateLeft64(c, 12) + bits.RotateLeft64(d, 18)
	h = xxMerge(xxMerge(xxMerge(xxMerge(h, a), b), c), d) + uint64(n)

	// What is left: words, half a word, and bytes. Their bits are the highest of last.
	for ; i+8 <= n; i += 8 {
		w := load64(subject, i-k)
		all |= w
		h = bits.RotateLeft64(h^xxRound(0, w), 27)*xxPrime1 + xxPrime4
	}
	last := load64(subject, len(subject)-8)
	all |= last
	left := uint(n - i)
	if left >= 4 {
		half := last >> (64 - 8*left) & (1<<32 - 1)
		h = bits.RotateLeft64(h^half*xxPrime1, 23)*xxPrime2 + xxPrime3
		left -= 4
	}
	for ; left > 0; left-- {
		h = bits.RotateLeft64(h^last>>(64-8*left)&0xff*xxPrime5, 11) * xxPrime1
	}
	h = (h ^ h>>33) * xxPrime2
	h = (h ^ h>>29) * xxPrime3
	return h ^ h>>32, all&0x8080808080808080 == 0
}

func xxRound(lane, word uint64) uint64 {
	return bits.RotateLeft64(lane+word*xxPrime2, 31) * xxPrime1
}

func xxMerge(h, lane uint64) uint64 { return (h^xxRound(0, lane))*xxPrime1 + xxPrime4 }
