// Decides which addresses belong to the public Internet. For IPv6 the rule is an allow list: every address outside of
// 2000::/3 is rejected, so embedded IPv4 (mapped, compatible, NAT64) needs no unwrapping; the transition ranges inside
// 2000::/3 are excluded. test/toolbox/web/ssrf-and-decompression-bombs.test.ts compares it with ipaddr.js.

import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** The IANA special purpose registry (RFC 6890 and later), multicast, and internal addresses of clouds. */
const specialIPv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier; 100.100.100.200 is a metadata service
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure platform service: a public address that answers only inside Azure
  '169.254.0.0/16', // link-local; 169.254.169.254 is the metadata service of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; 192.0.0.192 is a metadata service
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/** Ranges of 2000::/3 that are not public, or that lead to IPv4. */
const specialIPv6 = [
  '2001::/23', // Teredo, benchmarks, ORCHID and other protocols
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const blockListOf = (ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', prefix] = range.split('/')
    list.addSubnet(net, Number(prefix), family)
  }
  return list
}

const special = { ipv4: blockListOf(specialIPv4, 'ipv4'), ipv6: blockListOf(specialIPv6, 'ipv6') }
const unicastIPv6 = blockListOf(['2000::/3'], 'ipv6')

/** True for an address of the public Internet; false for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.ipv4.check(address, 'ipv4')
  return family === 6 && unicastIPv6.check(address, 'ipv6') && !special.ipv6.check(address, 'ipv6')
}

/** True for an address of this machine: its services may rely on a firewall that we are already behind. */
export function isOwnAddress(address: string): boolean {
  const same = new BlockList()
  for (const each of Object.values(networkInterfaces()).flat())
    if (each) same.addAddress(each.address.split('%')[0] as string, each.family === 'IPv4' ? 'ipv4' : 'ipv6')
  return same.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
