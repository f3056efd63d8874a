package memlimit

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// None stands for no limit.
const None = math.MaxInt64

// Process returns how many bytes the process may have: the limit of the Go runtime
// (GOMEMLIMIT) if it has one, otherwise the container's.
func Process() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != None {
		return limit
	}
	return Container()
}

// Container returns how many bytes the control groups of the process may have, None
// if they have no limit or there are none.
func Container() int64 { return limitBelow(os.DirFS("/")) }

// limitBelow reads the files of Linux below root. Both versions of control groups may
// be mounted at once. Each group is within the limits of those around it.
func limitBelow(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return None
	}
	limit := int64(None)
	for line := range bytes.Lines(groups) {
		// The number of the hierarchy, its controllers, and the group.
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A container sees its own group at the top, whatever the name is outside.
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			limit = min(limit, number(root, path.Join(folder, group, file)))
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// number returns the limit in a file, None if it has none. The first version of
// control groups writes a number of many exabytes for no limit.
func number(root fs.FS, file string) int64 {
	const absurd = 1 << 60
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return None
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n >= absurd {
		return None
	}
	return n
}
