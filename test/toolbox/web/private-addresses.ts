// Addresses that web_fetch must not reach, in all notations.

/** One address of each range that is not public. */
const inside = [
  '127.0.0.1',
  '127.8.9.10',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.254',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
]

const octets = (address: string): number[] => address.split('.').map(Number)
const number = (address: string): number => octets(address).reduce((sum, octet) => sum * 256 + octet, 0)
const hex = (address: string): string => number(address).toString(16).padStart(8, '0')
const halves = (text: string): string => `${text.slice(0, 4)}:${text.slice(4)}`
const inverted = (address: string): string => (0xffffffff - number(address)).toString(16).padStart(8, '0')
const digits = (address: string, zero: number): string =>
  address.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))
const circled = (address: string): string =>
  address.replaceAll(/\d/g, (digit) => (digit === '0' ? '⓪' : String.fromCodePoint(0x245f + Number(digit))))

/** Notations of a host that is, or leads to, an IPv4 address. */
const forms: Readonly<Record<string, (address: string) => string>> = {
  plain: (address) => address,
  decimal: (address) => String(number(address)),
  hexadecimal: (address) => `0x${hex(address)}`,
  octal: (address) => `0${number(address).toString(8)}`,
  'hexadecimal parts': (address) =>
    octets(address)
      .map((part) => `0x${part.toString(16)}`)
      .join('.'),
  'octal parts': (address) =>
    octets(address)
      .map((part) => `0${part.toString(8)}`)
      .join('.'),
  'octal parts with zeros': (address) =>
    octets(address)
      .map((part) => `0000${part.toString(8)}`)
      .join('.'),
  'two parts': (address) => `${octets(address)[0]}.${number(address) % 2 ** 24}`,
  'three parts': (address) => `${octets(address).slice(0, 2).join('.')}.${number(address) % 2 ** 16}`,
  'mixed parts': (address) =>
    `0x${octets(address)[0]?.toString(16)}.0${octets(address)[1]?.toString(8)}.${number(address) % 2 ** 16}`,
  'a dot at the end': (address) => `${address}.`,
  'full-width digits': (address) => digits(address, 0xff10),
  'mathematical digits': (address) => digits(address, 0x1d7ce),
  'circled digits': circled,
  'ideographic dots': (address) => address.replaceAll('.', '。'),
  'percent signs': (address) => address.replaceAll(/\d/g, (digit) => `%3${digit}`),
  mapped: (address) => `[::ffff:${address}]`,
  'mapped, hexadecimal': (address) => `[::ffff:${halves(hex(address))}]`,
  'mapped, in full': (address) => `[0:0:0:0:0:FFFF:${halves(hex(address))}]`,
  compatible: (address) => `[::${address}]`,
  translated: (address) => `[::ffff:0:${address}]`,
  NAT64: (address) => `[64:ff9b::${address}]`,
  'NAT64, local': (address) => `[64:ff9b:1::${address}]`,
  '6to4': (address) => `[2002:${halves(hex(address))}::1]`,
  Teredo: (address) => `[2001:0:4136:e378:8000:63bf:${halves(inverted(address))}]`,
  'Teredo, as its server': (address) => `[2001:0:${halves(hex(address))}::1]`,
}

/** IPv6 addresses. */
const others = [
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fd20:ce::254]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[2001:2::1]',
  '[2001:10::1]',
  '[2001:20::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[4000::1]',
  '[8000::1]',
  '[e000::1]',
  '[::ffff:0:0]',
]

/** Host names; the test resolver maps all of them to loopback. */
const names = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'metadata.google.internal',
  'intranet',
  '127.0.0.1.nip.io',
  'xn--n3h.example',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'local\u00adhost',
  '127.0.0.1.example',
  '0',
  '127.1',
  '017700000001',
  '0x7f.1',
]

export function attackUrls(port: number): string[] {
  const hosts = [...inside.flatMap((address) => Object.values(forms).map((form) => form(address))), ...others, ...names]
  const at = `127.0.0.1:${port}`
  return [
    ...hosts.map((host) => `http://${host}:${port}/`),
    `http://example.com@${at}/`,
    `http://user:pass@${at}/`,
    `http://${at}#@example.com/`,
    `http://${at}?@example.com/`,
    `http://${at}\\@example.com/`,
    `http://example.com\\@${at}/`,
    `http:\\\\${at}/`,
    `http:/${at}/`,
    `http:${at}/`,
    `http:////${at}/`,
    `hTTp://${at}/`,
    ` http://${at}/ `,
    `ht\ntp://${at}/`,
    `http://127.0.\t0.1:${port}/`,
    `http://127.0.0.1\u0000:${port}/`,
    `http://127.0.0.1:${port}\u0000.example.com/`,
    `https://${at}/`,
    `//${at}/`,
    `ftp://${at}/`,
    `file:///etc/passwd`,
    `file://127.0.0.1/etc/passwd`,
    `gopher://${at}/_x`,
    `dict://${at}/x`,
    `data:text/plain,x`,
    `javascript:fetch("http://${at}")`,
    `ws://${at}/`,
    `unix:/var/run/docker.sock`,
    `blob:http://${at}/x`,
    `view-source:http://${at}/`,
    `http://[${at}]/`,
    `http://127.0.0.1:0${port}/`,
    `http://127.0.0.1:${port}:80/`,
    `http://127.0.0.1%00:${port}/`,
    `http://127.0.0.1%2f:${port}/`,
    `http://[fe80::1%25lo]:${port}/`,
    `http://[::1%lo]:${port}/`,
    `http://.:${port}/`,
    `http://:${port}/`,
    `http:///`,
    ``,
  ]
}
