package publish

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// changelogFile has a section for each version, and one for what is not released.
const changelogFile = "CHANGELOG.md"

const (
	unreleased  = "## Unreleased"
	nothingYet  = "Nothing is released yet. The first release has:"
	nextSection = unreleased + "\n\nNothing yet.\n"
)

// section finds the heading of a version with its date.
var section = regexp.MustCompile(`(?m)^## (v\S+) \((\d{4}-\d\d-\d\d)\)$`)

// released returns the changelog with what was unreleased as the section of a version,
// and the text of that section.
func released(changelog, version string, date time.Time) (after, notes string, err error) {
	for _, m := range section.FindAllStringSubmatch(changelog, -1) {
		if m[1] == version {
			return "", "", fmt.Errorf("%s already has a section for %s", changelogFile, version)
		}
	}
	before, rest, ok := strings.Cut(changelog, unreleased+"\n")
	if !ok {
		return "", "", fmt.Errorf("%s has no section %q", changelogFile, unreleased)
	}
	text, older := rest, ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		text, older = rest[:i+1], rest[i:]
	}
	text = strings.TrimSpace(strings.Replace(text, nothingYet, "", 1))
	if text == "" || text == "Nothing yet." {
		return "", "", fmt.Errorf("%s says nothing below %q: users must know what is new", changelogFile, unreleased)
	}
	return before + nextSection + "\n## " + version + " (" + date.Format(time.DateOnly) + ")\n\n" + text + "\n" + older, text + "\n", nil
}

// releaseDate returns the date of a version in the changelog.
func releaseDate(changelog, version string) (time.Time, error) {
	for _, m := range section.FindAllStringSubmatch(changelog, -1) {
		if m[1] == version {
			return time.Parse(time.DateOnly, m[2])
		}
	}
	return time.Time{}, fmt.Errorf("%s has no section for %s", changelogFile, version)
}
