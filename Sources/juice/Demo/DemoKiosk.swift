import JuiceClient
import JuiceKiosk
import Logging

/// The settings of a demo's web page: its stores and its staff token.
struct DemoKiosk {
    let settings: Settings
    let stores: [String]
    let token: StaffToken
    /// The token to print, if it was created for this run.
    let printedToken: String?

    init(_ settings: Settings, stores: [String]) throws(Failure) {
        self.settings = settings
        self.stores = stores
        let made = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        if let given = try KioskPlan.staffToken(settings) {
            (token, printedToken) = (given, nil)
        } else if let token = StaffToken(made.leftPadded(to: StaffToken.minimumLength)) {
            (self.token, printedToken) = (token, made.leftPadded(to: StaffToken.minimumLength))
        } else {
            throw Failure(.software, "no staff token could be made")
        }
    }

    func plan(_ connection: Connection) throws(Failure) -> KioskPlan {
        try KioskPlan(connection, settings, stores: stores, staffToken: token)
    }
}

extension String {
    /// Pads with zeros: small random numbers have fewer digits.
    fileprivate func leftPadded(to length: Int) -> String {
        String(repeating: "0", count: max(0, length - count)) + self
    }
}

/// Runs a kiosk in the background.
final class RunningKiosk: Sendable {
    /// A line with the URL of the page and, if it was created, the staff token.
    let welcome: String
    private let server: BackgroundServer

    /// Starts the kiosk and waits until it accepts connections. It blocks, so do not call it on Swift's cooperative pool.
    ///
    /// - Throws: ``Failure`` if it cannot listen.
    init(_ demo: DemoKiosk, _ connection: Connection, logger: Logger) throws {
        let plan = try demo.plan(connection)
        server = try BackgroundServer(run: KioskRun.run) { onListening in
            KioskRun.group(plan, logger: logger, signals: [], onListening: onListening)
        }
        let token = demo.printedToken.map { "; the staff token is \($0)" } ?? ""
        welcome = "the page: \(KioskRun.url(server.address))\(token)"
    }

    /// Stops it and waits until it has ended.
    func stop() { server.stop() }
}
