package jetstream

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// subject returns the subject of an event: its partition and its project.
func (s *Stream) subject(e *capture.Event) string {
	b := make([]byte, 0, len(s.c.Name)+32)
	b = append(b, s.c.Name...)
	b = append(b, ".events."...)
	b = strconv.AppendUint(b, uint64(partition(e, s.partitions)), 10)
	b = append(b, '.')
	return string(strconv.AppendInt(b, e.Project, 10))
}

// partition returns which of n partitions has all events of a project and distinct
// ID. All processes must agree on it, so it never changes.
func partition(e *capture.Event, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(e.Project)))
	_, _ = h.Write([]byte(e.DistinctID))
	return int(h.Sum64() % uint64(n))
}

// appendMessageID appends what identifies an event: its project, UTC date, name,
// distinct ID and UUID (wire.md §2.7). With less, the stream would drop events that
// stores keep.
func appendMessageID(dst []byte, e *capture.Event) []byte {
	var room [512]byte
	b := append(room[:0], e.UUID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Project))
	b = e.Time.UTC().AppendFormat(b, time.DateOnly)
	b = binary.AppendUvarint(b, uint64(len(e.Name)))
	b = append(b, e.Name...)
	b = append(b, e.DistinctID...)
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.AppendEncode(dst, sum[:16])
}
