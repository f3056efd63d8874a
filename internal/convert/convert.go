package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Options say how to convert.
type Options struct {
	// Environment names one of several environments of the document, where it has them.
	Environment string

	// Version says which of several ways of drawing served the users, where a product has
	// changed its own: "" asks for it by an error.
	Version string

	// Archived has archived flags, too.
	Archived bool

	// Properties are the names of properties here by those of attributes there. An attribute
	// that is not in it keeps its name.
	Properties map[string]string

	// Group returns the index of the group type with a name.
	Group func(name string) int

	// Now is the moment of the import, by which flags that change by themselves are judged. Zero
	// means time.Now().
	Now time.Time
}

// Moment returns Now, or the present if that is zero.
func (o *Options) Moment() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

// An OptionError says what is wrong with an option: "environment" or "bucket_version".
type OptionError struct {
	Option string
	Text   string // in words that follow the name of the option
}

func (e *OptionError) Error() string { return e.Option + " " + e.Text }

// Property returns the name of the property that an attribute becomes.
func (o *Options) Property(attribute string) string {
	if name, ok := o.Properties[attribute]; ok {
		return name
	}
	return attribute
}

// A Project is what a document becomes.
type Project struct {
	Flags   []Flag
	Cohorts []Cohort
	Notes   []string // what somebody has to know of the whole

	GroupTypes map[int]string // by index, of definitions that are exported
}

// A Flag is a flag with a rule set.
type Flag struct {
	Key         string
	Description string
	Tags        []string
	Archived    bool
	Active      bool
	Experiment  bool // it belongs to an experiment
	Rules       flags.RuleSet

	// Problems say, in words, what is not exact, and what the flag does instead. Such a flag
	// is imported only if somebody asks for it by its key.
	Problems []string

	// InexactFrom is the number of the first rule that has a problem: whom an earlier one gives
	// a value, it does not concern.
	InexactFrom int

	// Notes say what is exact and yet another thing than there.
	Notes []string
}

// Problem adds a problem, unless the flag has it.
func (f *Flag) Problem(format string, args ...any) { add(&f.Problems, format, args) }

// Note adds a note, unless the flag has it.
func (f *Flag) Note(format string, args ...any) { add(&f.Notes, format, args) }

func add(list *[]string, format string, args []any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// A Cohort is a segment of the other product.
type Cohort struct {
	ID          int64 // in the document: what filters of type cohort name
	Name        string
	Description string
	Criteria    *flags.CohortNode
	Problems    []string // as those of a Flag, which each flag that needs the cohort has, too
}

// ID returns an ID that follows from what it is for: a product, a flag, a rule. The same parts
// make the same ID, so that a second import changes what the first one has made.
func ID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	t := hex.EncodeToString(b)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}
