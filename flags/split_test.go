package flags_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// splitFlag is a flag with one split rule.
func splitFlag(split string) string {
	return `{"version":2,"return_type":"number","default_value":-1,"rules":[
		{"id":"11111111-1111-4111-8111-111111111111","rule_type":"split","targeting":{"properties":[]},"split":{` + split + `}}]}`
}

// TestSplitHashes finds each hash from both sides of itself. The numbers come from the
// hashlib and zlib of Python, and from MurmurHash3 and FNV-1a written out there.
func TestSplitHashes(t *testing.T) {
	hashes := []string{"sha1_60", "sha1_28", "murmur3_32", `murmur3_32","hash_seed":"86028157`, "crc32", "fnv1a_32", "fnv1a_32_utf16", "fnv1a_32_utf16_twice"}
	for _, test := range []struct {
		text string
		want []uint64
	}{
		{"a", []uint64{607843303088085631, 141524547, 1009084850, 1778238603, 3904355907, 3826002220, 3826002220, 1854020216}},
		{"flag.user-1", []uint64{81893171998471016, 19067239, 3653648881, 318021370, 3647836250, 4164573370, 4164573370, 2421134701}},
		{"grüße😀", []uint64{478493283818214840, 111407899, 1201655281, 2749202329, 2228824178, 2211726725, 3091895725, 3150230882}},
		{strings.Repeat("x", 37), []uint64{1002608433071565352, 233437966, 3288984187, 183963521, 1513588509, 3219666775, 3219666775, 934287693}},
	} {
		for i, hash := range hashes {
			split := fmt.Sprintf(`"hash":"%s","ends":["%d","%d"],"values":[0,1],"rest":"last","no_subject":"first"`, hash, test.want[i], test.want[i]+1)
			s := ruled(t, "f", splitFlag(split))
			checkBoth(t, s, test.text, nil, "1 targeting_match")
			s = ruled(t, "f", splitFlag(strings.Replace(split, `"rest":"last"`, `"modulus":"1000","rest":"return_default"`, 1)))
			checkBoth(t, s, test.text, nil, "0 targeting_match") // the remainder is below
		}
	}
}

// checkBoth compares the value and the code of flag f in both ways of evaluation.
func checkBoth(t *testing.T, s *flags.Snapshot, id string, person map[string]any, want string) {
	t.Helper()
	quick, err := s.Flag("f", &flags.Request{DistinctID: id, PersonProperties: person})
	if err != nil {
		t.Fatal(err)
	}
	full := fully(t, s, "f", id, person)
	for way, r := range map[string]flags.Result{"quick": quick, "full": full} {
		if got := string(r.JSON()) + " " + r.Reason.Code; got != want {
			t.Errorf("%s for %q %v: %s, want %s", way, id, person, got, want)
		}
	}
}

// TestSplit: rules.md §9.
func TestSplit(t *testing.T) {
	const base = `"hash":"crc32","modulus":"100","prefix":"f","suffix":"z","ends":["10","60"],"values":[1,2]`
	// CRC-32 of "f" + n + "z" modulo 100.
	long := strings.Repeat("é", 300) // which is not cut
	for _, test := range []struct {
		split, id string
		person    map[string]any
		want      string
	}{
		{`"rest":"return_default","no_subject":"first"`, "", nil, "1 targeting_match"},
		{`"rest":"return_default","no_subject":"continue"`, "", nil, "-1 no_rule_match"},
		{`"rest":"return_default","no_subject":"return_default"`, "", nil, "-1 rollout_miss"},
		{`"rest":"return_default","no_subject":"first","subject":"seat"`, "ada", map[string]any{"seat": 1.5}, "1 targeting_match"},
		{`"rest":"return_default","no_subject":"first","subject":"seat"`, "ada", map[string]any{"seat": true}, "1 targeting_match"},
		{`"rest":"return_default","no_subject":"first","subject":"seat"`, "ada", nil, "1 targeting_match"},
		{`"rest":"return_default","no_subject":"first"`, "u3", nil, crcOutcome("fu3z", "return_default")},
		{`"rest":"continue","no_subject":"first"`, "u4", nil, crcOutcome("fu4z", "continue")},
		{`"rest":"last","no_subject":"first"`, "u5", nil, crcOutcome("fu5z", "last")},
		{`"rest":"last","no_subject":"first","subject":"seat"`, "ada", map[string]any{"seat": "u6"}, crcOutcome("fu6z", "last")},
		{`"rest":"last","no_subject":"first","subject":"seat"`, "ada", map[string]any{"seat": 12}, crcOutcome("f12z", "last")},
		{`"rest":"last","no_subject":"first"`, long, nil, crcOutcome("f"+long+"z", "last")},
	} {
		s := ruled(t, "f", splitFlag(base+","+test.split))
		checkBoth(t, s, test.id, test.person, test.want)
	}
	s := ruled(t, "f", splitFlag(base+`,"rest":"continue","no_subject":"first"`))
	for i := range 1000 {
		id := "u" + strconv.Itoa(i)
		checkBoth(t, s, id, nil, crcOutcome("f"+id+"z", "continue"))
	}
	if n := testing.AllocsPerRun(100, func() { s.Bool("f", &flags.Request{DistinctID: "u1"}, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// crcOutcome is what the split of TestSplit comes to, with a CRC-32 of its own.
func crcOutcome(text, rest string) string {
	crc := ^uint32(0)
	for _, c := range []byte(text) {
		crc ^= uint32(c)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320&-(crc&1)
		}
	}
	switch h := ^crc % 100; {
	case h < 10:
		return "1 targeting_match"
	case h < 60, rest == "last":
		return "2 targeting_match"
	case rest == "continue":
		return "-1 no_rule_match"
	}
	return "-1 rollout_miss"
}

func TestSplitFaults(t *testing.T) {
	const sound = `"hash":"crc32","ends":["1"],"values":[1],"rest":"last","no_subject":"first"`
	for _, test := range []struct{ old, with, code, path string }{
		{`"crc32"`, `"md5"`, "invalid", "/hash"},
		{`"hash":"crc32",`, ``, "required", "/hash"},
		{`["1"]`, `[1]`, "invalid", "/ends/0"},
		{`["1"]`, `["-1"]`, "invalid", "/ends/0"},
		{`["1"]`, `["18446744073709551616"]`, "invalid", "/ends/0"},
		{`["1"],"values":[1]`, `["2","1"],"values":[1,2]`, "invalid", "/ends"},
		{`["1"]`, `["1","2"]`, "invalid", "/ends"},
		{`["1"],"values":[1]`, `[],"values":[]`, "invalid", "/ends"},
		{`[1]`, `["x"]`, "invalid", "/values/0"},
		{`"rest":"last"`, `"rest":"first"`, "invalid", "/rest"},
		{`"no_subject":"first"`, `"no_subject":"last"`, "invalid", "/no_subject"},
		{`"hash":"crc32"`, `"hash":"crc32","modulus":"0"`, "invalid", "/modulus"},
		{`"hash":"crc32"`, `"hash":"crc32","hash_seed":"4294967296"`, "invalid", "/hash_seed"},
		{`"hash":"crc32"`, `"hash":"crc32","salt":"x"`, "unknown_field", "/salt"},
	} {
		set, err := flags.DecodeRuleSet([]byte(splitFlag(strings.Replace(sound, test.old, test.with, 1))), false)
		fault, ok := errors.AsType[*flags.RuleFault](err)
		if !ok || fault.Code != test.code || fault.Path != "/rules/0/split"+test.path {
			t.Errorf("%s: %+v, %+v; want %s at %s", test.with, set, err, test.code, test.path)
		}
	}
	set, err := flags.DecodeRuleSet([]byte(splitFlag(sound+`,"prefix":"a","suffix":"b","subject":"c","modulus":"18446744073709551615","hash_seed":"4294967295"`)), false)
	if err != nil {
		t.Fatal(err)
	}
	readsBack(t, set)
}
