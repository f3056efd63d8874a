// Looks are pictures of screens. The repository has them a quarter as wide and high, each
// place the mean of 4 by 4 pixels, in 16 levels of each colour.
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { decode, encode } from './png.js'

const by = 4, levels = 16

// slack is how far a place may be from its level, of 255, and tolerance how many places may be
// farther. An icon that is missing are sixteen.
const slack = 3, tolerance = 6

// most is how large all pictures may be together, in bytes.
export const most = 1_500_000

// sizes are the widths of windows.
export const sizes = [390, 768, 1440, 1920]

// reduce returns a screenshot as means, in three planes.
function reduce(png) {
	const { width, height, pixels } = decode(png)
	const w = Math.ceil(width / by), h = Math.ceil(height / by)
	const means = new Float32Array(w * h * 3)
	for (let y = 0, at = 0; y < h; y++) {
		const bottom = Math.min(y * by + by, height)
		for (let x = 0; x < w; x++, at += 3) {
			const right = Math.min(x * by + by, width)
			let red = 0, green = 0, blue = 0
			for (let line = y * by; line < bottom; line++) {
				for (let p = line * width + x * by, end = line * width + right; p < end; p++) {
					red += pixels[p] >> 16
					green += (pixels[p] >> 8) & 255
					blue += pixels[p] & 255
				}
			}
			const count = (bottom - y * by) * (right - x * by)
			means.set([red / count, green / count, blue / count], at)
		}
	}
	return { width: w, height: h, means }
}

const level = (mean) => Math.min(Math.floor(mean * levels / 256), levels - 1)
const shown = (mean) => level(mean) * 255 / (levels - 1)

// coarse returns means as a picture of the repository.
function coarse({ width, height, means }) {
	const pixels = Uint32Array.from({ length: width * height }, (_, i) => (shown(means[i * 3]) << 16) | (shown(means[i * 3 + 1]) << 8) | shown(means[i * 3 + 2]))
	return { width, height, pixels }
}

// compare returns where a picture differs from that of the repository, and whether that is too
// much. What only one of them has differs.
function compare(was, is) {
	const width = Math.max(was.width, is.width), height = Math.max(was.height, is.height)
	const pixels = new Uint32Array(width * height)
	let count = 0
	for (let y = 0, at = 0; y < height; y++) {
		for (let x = 0; x < width; x++, at++) {
			const both = x < was.width && x < is.width && y < was.height && y < is.height
			const old = both ? was.pixels[y * was.width + x] : 0
			let differs = !both
			for (let c = 0; both && c < 3; c++) {
				const low = ((old >> (16 - 8 * c)) & 255) * (levels - 1) / 255 * 256 / levels
				const mean = is.means[(y * is.width + x) * 3 + c]
				differs ||= mean < low - slack || mean > low + 256 / levels + slack
			}
			const grey = 191 + (((old >> 8) & 255) >> 2)
			pixels[at] = differs ? 0xd0103a : (grey << 16) | (grey << 8) | grey
			if (differs) count++
		}
	}
	return { same: count <= tolerance, share: percent(count / pixels.length), difference: { width, height, pixels } }
}

// Looks compares screens with the pictures of a folder, or puts new ones there.
export class Looks {
	constructor(folder, accept) {
		Object.assign(this, { folder, accept, names: new Set(), faults: [] })
	}

	// know reads which Chromium the pictures are of, or notes it. Another one may draw the same
	// page in another way, so that what differs then is said, and is no fault.
	async know(version) {
		const file = path.join(this.folder, 'chromium.txt')
		if (this.accept) await fs.writeFile(file, `${version}\n`)
		const made = (await fs.readFile(file, 'utf8')).trim()
		this.binding = made.split('.')[0] === version.split('.')[0]
		if (!this.binding) console.log(`note: the pictures of looks are of Chromium ${made}, and this is ${version}: differences are not faults`)
	}

	// compare compares a screenshot with its picture.
	async compare(name, png) {
		const is = reduce(png)
		const was = await fs.readFile(path.join(this.folder, `${name}.png`)).then(decode, () => ({ width: 0, height: 0, pixels: [] }))
		return { name, png, was, is: coarse(is), ...compare(was, is) }
	}

	// see compares a screenshot, and keeps what is wrong for the report, or accepts it.
	async see(name, png) {
		this.names.add(`${name}.png`)
		const found = await this.compare(name, png)
		if (found.same) return found
		if (!this.accept) this.faults.push(found)
		else await fs.writeFile(path.join(this.folder, `${name}.png`), encode(found.is))
		return found
	}

	// bytes returns how large all pictures are.
	async bytes() {
		const sizes = await Promise.all((await fs.readdir(this.folder)).map(async (name) => (await fs.stat(path.join(this.folder, name))).size))
		return sizes.reduce((sum, size) => sum + size, 0)
	}

	// spare returns the pictures that no screen has, or removes them.
	async spare() {
		const spare = (await fs.readdir(this.folder)).filter((name) => name.endsWith('.png') && !this.names.has(name))
		if (!this.accept) return spare
		for (const name of spare) await fs.rm(path.join(this.folder, name))
		return []
	}

	// report writes what differs into a folder, and returns the address of its page.
	async report() {
		const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'console-looks-'))
		const rows = await Promise.all(this.faults.map(async ({ name, share, png, was, is, difference }) => {
			await fs.writeFile(path.join(folder, `${name}.png`), png)
			const cells = await Promise.all(Object.entries({ was, is, difference }).map(async ([kind, picture]) => {
				if (picture.width === 0) return '<td>none'
				await fs.writeFile(path.join(folder, `${name}-${kind}.png`), encode(picture))
				return `<td><img src="${name}-${kind}.png" width="${picture.width * 2}" alt="">`
			}))
			return `<tr><th colspan="3"><a href="${name}.png">${name}</a>: ${share} differs<tr>${cells.join('')}`
		}))
		const page = path.join(folder, 'index.html')
		await fs.writeFile(page, `<!doctype html><meta charset="utf-8"><title>Looks of the console</title>
<style>body { font-family: sans-serif } th { text-align: left; padding-top: 24px } td { vertical-align: top } img { image-rendering: pixelated; border: 1px solid }</style>
<h1>Looks of the console</h1><table><tr><th>was<th>is<th>difference${rows.join('\n')}</table>
`)
		return pathToFileURL(page).href
	}
}

const percent = (share) => `${(share * 100).toFixed(2)} %`

// still makes a page the same each time. Its fonts are DejaVu, which Debian's Chromium brings
// along. Times, keys, addresses and digits are replaced, and what is drawn by days is hidden, but
// for the page of the parts, whose chart is always the same.
export function still() {
	const sheet = new CSSStyleSheet()
	sheet.replaceSync(`:root { --mono: "DejaVu Sans Mono" } html, .avatar { font-family: "DejaVu Sans" !important } * { caret-color: transparent !important }
		.qr, ::-webkit-datetime-edit, :root:not(:has(#buttons)) :is(.chart svg *, .spark polyline) { visibility: hidden }`)
	document.adoptedStyleSheets.push(sheet)
	document.activeElement?.blur()
	const rules = [
		[/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '00000000-0000-0000-0000-000000000000'],
		[/([A-Z2-7]{4} ){7}[A-Z2-7]{4}/g, 'AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA'],
		[/\d+ (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*( \d{4})?/g, '10 May 2000'],
		[/just now|(in )?\d+ (second|minute|hour|day|month|year)s?( ago)?/g, '10 days ago'],
		[/logins \d+ · plan \w+/g, 'logins 100 · plan pro'], // persons that have come together have no order
		[/example\.com/g, 'example.org'],
		[/\d/g, '0'],
	]
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let node; (node = walker.nextNode());) {
		const text = rules.reduce((text, [wanted, instead]) => text.replace(wanted, instead), node.data)
		if (text !== node.data) node.data = text
	}
}

// jumps returns how far what was already seen has moved while the page was loaded: 1 is all of it
// by the height of the window.
export function jumps() {
	return new Promise((done) => {
		let sum = 0
		const observer = new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value })
		observer.observe({ type: 'layout-shift', buffered: true })
		setTimeout(() => done(sum), 50)
	})
}

// tall waits until a window has its size, and returns how high the page is then.
export async function tall({ width, height }) {
	while (innerWidth !== width || innerHeight !== height) await new Promise(requestAnimationFrame)
	return Math.max(document.documentElement.scrollHeight, 900)
}

// mistakes are style sheets that a page must not have unnoticed, and one that changes nothing.
export const mistakes = {
	'a button that moved by 8 px': '.head .primary { translate: 8px }',
	'a missing icon': '.side nav li:nth-child(4) .icon { visibility: hidden }',
	'a lost column': '.flags :is(th, td):nth-child(4) { display: none }',
	'another muted colour': ':root { --muted: #6d5f7a }',
	'another accent': ':root { --accent: #2c7cc5 }',
	'the page itself': '',
}

// style gives a page a style sheet in place of the one that it was given before.
export function style(rules) {
	window.styled ??= document.adoptedStyleSheets[document.adoptedStyleSheets.push(new CSSStyleSheet()) - 1]
	window.styled.replaceSync(rules)
}
