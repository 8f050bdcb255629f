import JuiceEngine
import JuiceMessages
import SeededRandom

/// The parameters of one run, drawn from the seed. Each run leaves some faults out, since too many at once hide each other.
struct Scenario {
    let steps: Int
    let partitionCount: Int32
    /// How many partitions an operator adds to each topic, and at which step.
    let enlargements: [Topic: (Int32, step: Int)]
    let instances: [String]
    let storeCount: Int
    let maxBatch: Int
    var window: DuplicateWindow
    let clocks: ClientClocks
    /// The longest time of one step, in milliseconds. In some runs many windows pass, and backlogs grow old.
    var stepTime: Int
    /// The longest leap of the clock, in milliseconds.
    let leapTime: Int

    // How often, in percent of the steps.
    let command: Double
    let marker: Double
    /// The group applies the offsets of a transaction that has its markers.
    let completion: Double
    let crash: Double
    let stop: Double
    let pause: Double
    let rebalance: Double
    let outage: Double
    let timeOut: Double
    let compaction: Double
    let leap: Double
    /// The arrival of a request that was held back.
    let lateArrival: Double
    // The same of a worker's steps.
    let fault: Double
    let lostDelivery: Double
    /// Requests that are held back and resent.
    let heldBack: Double

    // How often, in percent of the commands.
    let repeated: Double
    let foreign: Double
    let poison: Double

    init(using random: inout SeededGenerator) {
        func rate(_ most: Double) -> Double {
            random.chance(25) ? 0 : Double.random(in: 0...most, using: &random)
        }
        steps = random.number(200...1200)
        partitionCount = Int32(random.number(1...4))
        var enlargements: [Topic: (Int32, step: Int)] = [:]
        for topic in Topic.allCases where random.chance(25) {
            // In some runs they are added before anyone begins.
            let step = random.chance(25) ? 0 : random.number(0...steps)
            enlargements[topic] = (Int32(random.number(1...4)), step)
        }
        self.enlargements = enlargements
        instances = (1...random.number(1...4)).map { "instance-\($0)" }
        storeCount = random.number(1...6)
        maxBatch = random.number(1...12)
        window = DuplicateWindow(
            age: Timestamp(random.pick([500, 5_000, 60_000, 3_600_000]) ?? 0),
            count: random.pick([3, 20, 100, 1_000_000]) ?? 0
        )
        clocks = ClientClocks(age: window.age, using: &random)
        stepTime = random.pick([10, 10, Int(window.age) / 100, Int(window.age) / 10]) ?? 0
        leapTime = random.pick([10_000, Int(window.age) * 3]) ?? 0
        command = Double(random.number(5...50))
        marker = Double(random.number(5...100))
        completion = Double(random.number(5...100))
        crash = rate(3)
        stop = rate(0.5)
        pause = rate(3)
        rebalance = rate(2)
        outage = rate(1)
        timeOut = rate(2)
        compaction = rate(5)
        leap = rate(1)
        lateArrival = Double(random.number(1...30))
        fault = rate(10)
        lostDelivery = rate(2)
        heldBack = rate(5)
        repeated = rate(30)
        foreign = rate(40)
        poison = rate(8)
    }
}
