import NIOCore
import NIOPosix
import Testing

@testable import FaultyNetwork

@Suite struct FaultyNetworkTests {
    /// Lets the plan hold back what it may, until partitions are added.
    private struct Least: RandomNumberGenerator { func next() -> UInt64 { 1 } }

    /// The address of a broker that answers each request, and the requests that it gets.
    private func broker() throws -> (address: BrokerAddress, requests: AsyncStream<ApiKey>) {
        let (requests, seen) = AsyncStream.makeStream(of: ApiKey.self)
        let listener = try ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = try FrameDecoder.frames(of: channel)
                    Task {
                        try await connection.executeThenClose { requests, responses in
                            for try await request in requests {
                                let request = try Request(frame: request)
                                seen.yield(request.key)
                                try await responses.write(Self.response(to: request, port: channel.localAddress?.port ?? 0))
                            }
                        }
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        return (BrokerAddress(host: "127.0.0.1", port: listener.localAddress?.port ?? 0), requests)
    }

    private static func response(to request: Request, port: Int) -> ByteBuffer {
        let body: [Field] =
            switch request.key {
            case .metadata: [.int32(1), .int32(0), .string("127.0.0.1"), .int32(Int32(port))]
            // No error.
            default: [.int32(0), .int32(0)]
            }
        return frame([.int32(request.correlationID)] + body)
    }

    /// Sends a request on a connection of its own. Returns nil if the connection was closed instead of a response.
    private func ask(_ key: ApiKey, through network: FaultyNetwork, at address: BrokerAddress) async throws -> ByteBuffer? {
        let body: [Field] = key == .metadata ? [] : [.string("t"), .int64(4_000), .int16(7), .int8(1)]
        return try await network.connect(to: address).executeThenClose { responses, requests in
            try await requests.write(requestFrame(key, 0, body))
            return try? await responses.first { _ in true }
        }
    }

    @Test func lateEndTxnMeetsTheNextTransaction() async throws {
        let (address, requests) = try broker()
        let network = FaultyNetwork(rate: 100, kinds: [.endTxn], random: Least(), longestHold: .seconds(60))
        let listener = try #require(network.listen(inFrontOf: address.description).flatMap { BrokerAddress($0) })
        network.resumeFaults()
        network.awaitHarm()

        let metadata = try await ask(.metadata, through: network, at: listener)
        #expect(metadata == frame([.int32(77), .int32(1), .int32(0), .string("127.0.0.1"), .int32(Int32(listener.port))]))
        #expect(try await ask(.addPartitionsToTxn, through: network, at: listener) != nil)
        #expect(try await ask(.endTxn, through: network, at: listener) == nil)
        network.pauseFaults()
        #expect(try await ask(.endTxn, through: network, at: listener) != nil)
        #expect(network.harmedTransactionalID == nil)
        #expect(try await ask(.addPartitionsToTxn, through: network, at: listener) != nil)
        // This request waits until the late one has arrived.
        #expect(try await ask(.endTxn, through: network, at: listener) != nil)

        #expect(network.harmedTransactionalID == "t")
        #expect(network.power.hasPrefix("power: 1 late requests, 1 met a later transaction of their transactional id, 1 of these"))
        #expect(network.faultTable.contains(["EndTxn", "2", "1", "0", "0", "0", "0"]))
        #expect(network.problems.isEmpty)
        let seen = await requests.prefix(6).reduce(into: []) { $0.append($1) }
        #expect(seen == [.metadata, .addPartitionsToTxn, .endTxn, .addPartitionsToTxn, .endTxn, .endTxn])
    }
}
