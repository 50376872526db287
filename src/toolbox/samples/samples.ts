// toolbox.samples(): deterministic tools for demos and tests. They need no network and no files.

import type { Tool } from '../../tools/tool.ts'
import { add } from './add.ts'
import { divide } from './divide.ts'
import { echo } from './echo.ts'
import { getForecast } from './get-forecast.ts'
import { getWeather } from './get-weather.ts'
import { multiply } from './multiply.ts'
import { subtract } from './subtract.ts'

export const samples = (): Tool[] => [echo, add, subtract, multiply, divide, getWeather, getForecast]
