package management

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A device token shows that a browser has signed a user in before, so that the tries of
// others do not lock it out (management.md §5.9). It is 16 random bytes with their MAC under
// the hash of the user's password, which nobody outside knows: it needs no storage, and ends
// when the password changes. It opens nothing.

const deviceBytes = 16 // that are random

// deviceToken returns a device token of a user, "" for one who has no password.
func deviceToken(u *storage.User) string {
	if u.PasswordHash == "" {
		return ""
	}
	b := make([]byte, deviceBytes, deviceBytes+sha256.Size)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(append(b, deviceMAC(u, b)...))
}

// knowsDevice reports whether a token is one of a user's.
func knowsDevice(u *storage.User, token string) bool {
	if u.PasswordHash == "" || len(token) != base64.RawURLEncoding.EncodedLen(deviceBytes+sha256.Size) {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && hmac.Equal(b[deviceBytes:], deviceMAC(u, b[:deviceBytes]))
}

func deviceMAC(u *storage.User, random []byte) []byte {
	m := hmac.New(sha256.New, []byte(u.PasswordHash))
	m.Write([]byte("device:" + strconv.FormatInt(u.ID, 10) + ":"))
	m.Write(random)
	return m.Sum(nil)
}

// network returns the network of a client for which attempts are counted: of IPv6 the first
// 64 bits, which one client may have all addresses of. It is "" if it is not known.
func (c Client) network() string {
	addr := c.Address.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return ""
	case addr.Is6():
		return netip.PrefixFrom(addr, 64).Masked().String()
	}
	return addr.String()
}
