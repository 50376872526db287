// WEB: which addresses are the public Internet's. The rule says what may be reached, not what may not: an IPv6 address outside of 2000::/3 is refused
// whatever it means, so IPv4 in disguise (mapped, compatible, NAT64) needs no unwrapping; in there the transition ranges are taken out.
// test/toolbox/web/ssrf-and-decompression-bombs.test.ts holds it against ipaddr.js, an implementation of somebody else.

import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** The special purpose registry of IANA (RFC 6890 and what came after), multicast, and what clouds use on the inside. */
const specialIPv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier; 100.100.100.200 is a metadata service
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's platform: public by its number, and answers only inside
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

/** The part of 2000::/3 that is not the Internet's, or leads to IPv4. */
const specialIPv6 = [
  '2001::/23', // Teredo, benchmarks, ORCHID and other protocols
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const listOf = (ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', prefix] = range.split('/')
    list.addSubnet(net, Number(prefix), family)
  }
  return list
}

const special = { ipv4: listOf(specialIPv4, 'ipv4'), ipv6: listOf(specialIPv6, 'ipv6') }
const unicastIPv6 = listOf(['2000::/3'], 'ipv6')

/** Whether an address is one of the public Internet. What is no address is not. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.ipv4.check(address, 'ipv4')
  return family === 6 && unicastIPv6.check(address, 'ipv6') && !special.ipv6.check(address, 'ipv6')
}

/** Whether it is an address of this very machine: what listens here may rely on a firewall that we are behind. */
export function isOwn(address: string): boolean {
  const same = new BlockList()
  for (const each of Object.values(networkInterfaces()).flat())
    if (each) same.addAddress(each.address.split('%')[0] as string, each.family === 'IPv4' ? 'ipv4' : 'ipv6')
  return same.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
