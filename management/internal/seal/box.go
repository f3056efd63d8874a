package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// ErrOpen is the error of Open for anything that no key of the Box has sealed
// for the given context. It gives no reason, because an attacker could learn
// from one.
var ErrOpen = errors.New("seal: cannot be opened")

const (
	version = 1
	idSize  = 2
)

// HeaderSize is how many bytes of sealed data say which key has sealed it.
const HeaderSize = 1 + idSize

// A Box seals and opens data. Its methods are safe for concurrent use.
type Box struct {
	keys []key // the first one seals
}

// A key is derived from one of the caller's keys.
type key struct {
	id   [idSize]byte
	aead cipher.AEAD // chooses nonces itself
	mac  []byte
}

// New returns a Box that seals with the first key and opens with all of them.
// It fails if there is no key, if a key has another size than KeySize, or if
// two keys have the same id. Equal keys have the same id; two different ones
// have it in one of 65536 cases, and then cannot be told apart. New does not
// keep the slices.
func New(keys ...[]byte) (*Box, error) {
	if len(keys) == 0 {
		return nil, errors.New("seal: there is no key")
	}
	b := new(Box)
	for i, secret := range keys {
		if len(secret) != KeySize {
			return nil, fmt.Errorf("seal: key %d of %d has %d bytes, want %d", i+1, len(keys), len(secret), KeySize)
		}
		made, err := derive(secret)
		if err != nil {
			return nil, fmt.Errorf("seal: key %d of %d: %w", i+1, len(keys), err)
		}
		if other := slices.IndexFunc(b.keys, func(k key) bool { return k.id == made.id }); other >= 0 {
			return nil, fmt.Errorf("seal: keys %d and %d of %d are equal or have the same id: make another one", other+1, i+1, len(keys))
		}
		b.keys = append(b.keys, made)
	}
	return b, nil
}

// derive makes a key from one of the caller's keys.
func derive(secret []byte) (key, error) {
	// Keys derived for different purposes are independent of each other.
	expand := func(purpose string, size int) ([]byte, error) {
		return hkdf.Key(sha256.New, secret, nil, "flagstaff seal 1 "+purpose, size)
	}
	id, errID := expand("id", idSize)
	encryption, errEncryption := expand("encryption", 32)
	mac, errMAC := expand("mac", sha256.Size)
	if err := errors.Join(errID, errEncryption, errMAC); err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, err
	}
	return key{id: [idSize]byte(id), aead: aead, mac: mac}, nil
}

// Seal encrypts plain for a context, with the first key.
func (b *Box) Seal(plain []byte, context string) []byte {
	k := &b.keys[0]
	sealed := make([]byte, 0, HeaderSize+k.aead.Overhead()+len(plain))
	sealed = append(sealed, version)
	sealed = append(sealed, k.id[:]...)
	return k.aead.Seal(sealed, nil, plain, authenticated(sealed, context))
}

// Open returns the data that was sealed for a context, or ErrOpen.
func (b *Box) Open(sealed []byte, context string) ([]byte, error) {
	if len(sealed) < HeaderSize || sealed[0] != version {
		return nil, ErrOpen
	}
	header, body := sealed[:HeaderSize], sealed[HeaderSize:]
	i := slices.IndexFunc(b.keys, func(k key) bool { return bytes.Equal(k.id[:], header[1:]) })
	if i < 0 {
		return nil, ErrOpen
	}
	plain, err := b.keys[i].aead.Open([]byte{}, nil, body, authenticated(header, context))
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

// authenticated returns the data that is authenticated besides the content. The
// header has a fixed size, so no other header and context give the same bytes.
func authenticated(header []byte, context string) []byte {
	return append(bytes.Clone(header), context...)
}

// Outdated reports whether data was sealed with another key than the first. If
// it opens, it should be sealed again.
func (b *Box) Outdated(sealed []byte) bool {
	return len(sealed) < HeaderSize || sealed[0] != version || !bytes.Equal(sealed[1:HeaderSize], b.keys[0].id[:])
}

// Knows reports whether data names one of the keys as the one that sealed it. The
// first [HeaderSize] bytes are enough.
func (b *Box) Knows(sealed []byte) bool {
	return len(sealed) >= HeaderSize && sealed[0] == version &&
		slices.ContainsFunc(b.keys, func(k key) bool { return bytes.Equal(k.id[:], sealed[1:HeaderSize]) })
}

// MAC returns the keyed hash of data for a context, made with the first key: 32
// bytes, the same each time. Compare hashes with hmac.Equal, or look them up in
// a database.
func (b *Box) MAC(data []byte, context string) []byte {
	return b.keys[0].sum(data, context)
}

// MACs returns the MACs that all keys make, in the order of the keys. A caller
// needs them to find data that was stored with an older key.
func (b *Box) MACs(data []byte, context string) [][]byte {
	sums := make([][]byte, len(b.keys))
	for i := range b.keys {
		sums[i] = b.keys[i].sum(data, context)
	}
	return sums
}

// sum hashes the length of the context first, so that no byte can move between
// context and data.
func (k *key) sum(data []byte, context string) []byte {
	h := hmac.New(sha256.New, k.mac)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(context))))
	h.Write([]byte(context))
	h.Write(data)
	return h.Sum(nil)
}
