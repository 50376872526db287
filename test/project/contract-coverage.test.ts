// The list of promises, and the function that compares it with the tests of a full run (scripts/promise-reporter.mjs).

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { idsIn, judgePromises } from '../kit/judge-promises.ts'
import { type ContractPromise, promises } from './contract.ts'

/** Promises that are not started. Lower it when you build one; raise it only when the contract grows. */
const notYetAtMost = 16

test('the contract has 116 promises, each listed once', () => {
  const text = readFileSync(new URL('contract.ts', import.meta.url), 'utf8')
  const keys = [...text.matchAll(/^ {2}'([A-Z]+-\d+)': \{$/gm)].map(([, key]) => key)
  expect(keys).toHaveLength(116)
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys).toEqual(Object.keys(promises))
  expect(idsIn(keys as string[])).toEqual(keys)
})

test('every promise has a sentence and a state, and a part-built one names what is missing', () => {
  for (const [id, { state, says }] of Object.entries(promises)) {
    expect(says, id).toMatch(/^\S.{10,}\S$/)
    if (typeof state === 'object') expect(state, id).toEqual({ missing: expect.stringMatching(/\S/) })
    else expect(['built', 'not yet'], id).toContain(state)
  }
})

test('the number of promises that are not started only shrinks', () => {
  const notYet = Object.values(promises).filter(({ state }) => state === 'not yet')
  expect(notYet.length).toBeLessThanOrEqual(notYetAtMost)
})

const contract: Record<string, ContractPromise> = {
  'VAL-1': { state: 'built', says: 'a' },
  'VAL-2': { state: { missing: 'half' }, says: 'b' },
  'VAL-3': { state: 'not yet', says: 'c' },
  'VAL-10': { state: 'built', says: 'd' },
}

test('promise ids are read once each from full test names, describe included', () => {
  expect(idsIn(['VAL-1, VAL-2: a > b', 'stores > c [VAL-10, VAL-1]', 'UTF-8 and XVAL-3, VAL-'])).toEqual([
    'VAL-1',
    'VAL-2',
    'VAL-10',
  ])
})

test('a promise that is at least partly built but not cited by a test is reported as missing', () => {
  expect(judgePromises(['VAL-1', 'VAL-2', 'VAL-10'], contract)).toEqual({ missing: [], unexpected: [] })
  expect(judgePromises(['VAL-10'], contract)).toEqual({ missing: ['VAL-1', 'VAL-2'], unexpected: [] })
  expect(judgePromises([], contract).missing).toEqual(['VAL-1', 'VAL-2', 'VAL-10'])
})

test('a promise cited by a test must be listed and started', () => {
  expect(judgePromises(['VAL-1', 'VAL-2', 'VAL-10', 'VAL-3', 'VAL-4'], contract).unexpected).toEqual(['VAL-3', 'VAL-4'])
})
