import zlib from 'node:zlib'

// shrink returns a screenshot with a palette of at most 256 colours, which takes a third of
// the space or less. Pages have few colours; what antialiasing adds becomes the nearest one.
export function shrink(png) {
	return encode(decode(png))
}

// encode writes a picture with a palette of at most 256 colours.
export function encode({ width, height, pixels }) {
	const counts = new Map()
	for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
	const palette = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, 256)
	const indexes = new Map(palette.map((colour, index) => [colour, index]))
	for (const colour of counts.keys()) {
		if (!indexes.has(colour)) indexes.set(colour, nearest(palette, colour))
	}
	const rows = Buffer.alloc(height * (width + 1)) // each begins with its filter, none
	for (let y = 0; y < height; y++) {
		for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x])
	}
	const header = Buffer.alloc(13)
	header.writeUInt32BE(width, 0)
	header.writeUInt32BE(height, 4)
	header.set([8, 3, 0, 0, 0], 8) // 8 bits, palette
	return Buffer.concat([
		signature,
		chunk('IHDR', header),
		chunk('PLTE', Buffer.from(palette.flatMap(parts))),
		chunk('IDAT', zlib.deflateSync(rows, { level: 9, memLevel: 9 })),
		chunk('IEND', Buffer.alloc(0)),
	])
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]

function nearest(palette, colour) {
	const [r, g, b] = parts(colour)
	let best = 0, least = Infinity
	for (const [index, other] of palette.entries()) {
		const [r2, g2, b2] = parts(other)
		const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2
		if (distance < least) [best, least] = [index, distance]
	}
	return best
}

// decode reads a PNG with 8 bits for each of red, green, blue and perhaps opacity, which is
// what browsers write, or one of encode.
export function decode(png) {
	let width, height, size, palette
	const data = []
	for (let at = signature.length; at < png.length;) {
		const length = png.readUInt32BE(at)
		const body = png.subarray(at + 8, at + 8 + length)
		switch (png.toString('latin1', at + 4, at + 8)) {
		case 'IHDR':
			;[width, height, size] = [body.readUInt32BE(0), body.readUInt32BE(4), { 2: 3, 3: 1, 6: 4 }[body[9]]]
			if (body[8] !== 8 || !size || body[12] !== 0) throw new Error('the picture is not a PNG as browsers write it')
			break
		case 'PLTE':
			palette = Uint32Array.from({ length: length / 3 }, (_, i) => body.readUIntBE(i * 3, 3))
			break
		case 'IDAT':
			data.push(body)
		}
		at += length + 12
	}
	const raw = zlib.inflateSync(Buffer.concat(data))
	const stride = width * size
	const pixels = new Uint32Array(width * height)
	let above = new Uint8Array(stride)
	for (let y = 0; y < height; y++) {
		const filter = raw[y * (stride + 1)]
		const row = raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1))
		if (filter === 1) for (let i = size; i < stride; i++) row[i] += row[i - size]
		else if (filter === 2) for (let i = 0; i < stride; i++) row[i] += above[i]
		else if (filter === 3) for (let i = 0; i < stride; i++) row[i] += ((i < size ? 0 : row[i - size]) + above[i]) >> 1
		else if (filter === 4) for (let i = 0; i < stride; i++) row[i] += paeth(i < size ? 0 : row[i - size], above[i], i < size ? 0 : above[i - size])
		for (let x = 0; x < width; x++) pixels[y * width + x] = palette ? palette[row[x]] : (row[x * size] << 16) | (row[x * size + 1] << 8) | row[x * size + 2]
		above = row
	}
	return { width, height, pixels }
}

function paeth(left, up, corner) {
	const toLeft = Math.abs(up - corner), toUp = Math.abs(left - corner), toCorner = Math.abs(left + up - 2 * corner)
	return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner
}

function chunk(name, body) {
	const out = Buffer.alloc(body.length + 12)
	out.writeUInt32BE(body.length, 0)
	out.write(name, 4, 'latin1')
	out.set(body, 8)
	out.writeUInt32BE(zlib.crc32(out.subarray(4, -4)), out.length - 4)
	return out
}
