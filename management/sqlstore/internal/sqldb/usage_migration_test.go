package sqldb_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A packedCount is a count as version 19 of the schema packed it.
type packedCount struct {
	key        string
	day, calls int64
	value, sdk string
}

func packed(list ...packedCount) []byte {
	var texts []string
	number := func(s string) uint64 {
		texts = append(texts, s)
		return uint64(len(texts) - 1)
	}
	var counts []byte
	for _, c := range list {
		for _, n := range []uint64{number(c.key), number(c.value), number(c.sdk)} {
			counts = binary.AppendUvarint(counts, n)
		}
		counts = binary.AppendVarint(counts, c.day-list[0].day)
		counts = binary.AppendUvarint(counts, uint64(c.calls))
	}
	b := binary.AppendUvarint(binary.AppendVarint(nil, list[0].day), uint64(len(texts)))
	for _, s := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return append(b, counts...)
}

// TestUpgradeUsage opens a store that has counts of calls in blobs, added up and not.
func TestUpgradeUsage(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		const day = 20_000
		blob := "x'%x'"
		if d.postgres {
			blob = `'\x%x'`
		}
		d.migrate(t, 19)
		d.exec(t,
			fmt.Sprintf("INSERT INTO flag_usage (project_id, flag_key, period, counts) VALUES (1, 'beta', 625, "+blob+")",
				packed(packedCount{"", day, 5, "true", "web"}, packedCount{"", day - 3, 2, `"a"`, ""})),
			fmt.Sprintf("INSERT INTO flag_usage_part (project_id, part, counts) VALUES (1, 1, "+blob+"), (1, 2, "+blob+"), (2, 1, "+blob+")",
				packed(packedCount{"beta", day, 7, "true", "web"}, packedCount{"other", day, 1, "false", "web"}),
				packed(packedCount{"beta", day + 1, 3, "null", "go"}), packed(packedCount{"beta", day, 9, "true", "web"})))
		db := d.open(t)
		at := func(day int64) time.Time { return time.Unix(day*86400, 0).UTC() }
		for _, tt := range []struct {
			project int64
			key     string
			want    []storage.FlagCount
		}{
			{1, "beta", []storage.FlagCount{
				{Day: at(day - 3), Value: []byte(`"a"`), Count: 2}, {Day: at(day), Value: []byte("true"), SDK: "web", Count: 12}, {Day: at(day + 1), Value: []byte("null"), SDK: "go", Count: 3},
			}},
			{1, "other", []storage.FlagCount{{Day: at(day), Value: []byte("false"), SDK: "web", Count: 1}}},
			{2, "beta", []storage.FlagCount{{Day: at(day), Value: []byte("true"), SDK: "web", Count: 9}}},
		} {
			got, err := db.FlagUsage(ctx, tt.project, []string{tt.key}, time.Time{})
			for i := range tt.want {
				tt.want[i].Key = tt.key
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%s of project %d: %v (-want +got)\n%s", tt.key, tt.project, err, diff)
			}
		}
	})
}

// FuzzUnpack reads counts from anything.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(packedCount{"beta", 20_000, 7, "true", "web"}, packedCount{"other", 19_999, 1, "false", ""}))
	f.Add([]byte{0, 1, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := sqldb.Unpack(b, func(string, int64, string, string, int64) {}); err != nil && !errors.Is(err, sqldb.ErrUsage) {
			t.Errorf("error %v", err)
		}
	})
}
