package filelimit

import "math"

// None stands for no limit.
const None = math.MaxInt64
