// Package seal encrypts stored data that must be read again, so that a copy of
// the database alone reveals none of it.
//
//	box, err := seal.New(key) // 32 random bytes
//	…
//	sealed := box.Seal(secret, "totp:7")
//	secret, err = box.Open(sealed, "totp:7")
//
// The context says what the data is and whose it is. It is neither secret nor
// stored, but data that was sealed for one context opens for that context only:
// somebody who can write to the database cannot give one user the data of
// another.
//
// [Box.MAC] makes a keyed hash, by which data can be looked up without storing
// it.
//
// A [Box] is safe for concurrent use.
//
// # Keys
//
// Keys are rotated by passing the new key first and the old keys after it: the
// first key seals, and all of them open. [Box.Outdated] reports data that must
// be sealed again before an old key can be dropped. [Box.MACs] finds hashes
// that were stored with an old key.
//
// HKDF (RFC 5869) with SHA-256 derives three things from each key: a key for
// encryption, a key for hashes, and the id by which sealed data names its key.
//
// # Format
//
// Sealed data is 31 bytes longer than its content:
//
//	1   version, 1
//	2   id of the key
//	12  nonce, random
//	n   AES-256-GCM
//	16  tag
//
// Version, id and context are authenticated. With random nonces, a key may seal
// 2³² values (NIST SP 800-38D §8.3).
//
// Source: management.md §5.4.
package seal
