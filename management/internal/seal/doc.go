// Package seal encrypts what is stored and must be read again, so that a copy of
// the database alone gives nothing away.
//
//	box, err := seal.New(key) // 32 random bytes
//	…
//	sealed := box.Seal(secret, "totp:7")
//	secret, err = box.Open(sealed, "totp:7")
//
// The context says what is sealed and whose it is. It is not secret and not
// stored, but what was sealed with one context opens with this one only: nobody
// who can write to the database can give a user what is another's.
//
// [Box.MAC] makes a keyed hash, to look up what is stored without storing it.
//
// A [Box] is safe for concurrent use.
//
// # Keys
//
// Keys are rotated by passing the new one first and the old ones after it: the
// first one seals, all of them open. [Box.Outdated] tells what has to be sealed
// anew before an old key can go; [Box.MACs] finds what was stored under it.
//
// Each key is only a source: HKDF (RFC 5869) with SHA-256 derives from it one key
// for encryption, one for hashes, and the id under which it is found.
//
// # Format
//
// What is sealed has 31 bytes more than what it contains:
//
//	1   version, 1
//	2   id of the key
//	12  nonce, random
//	n   AES-256-GCM
//	16  tag
//
// Version, id and context are authenticated. With random nonces a key may seal 2³²
// values (NIST SP 800-38D §8.3).
//
// Source: management.md §5.4.
package seal
